// Starts and centres of searches that climb: see climbing.h.
#include "tune/search/climbing.h"

#include <cmath>
#include <limits>

namespace loopsmith::tune {
namespace {

// The random points among which a start is chosen, and the starts of one batch.
constexpr int start_draws = 32;
constexpr size_t most_starts = 4;

}  // namespace

void Climbing::learn(const Proposal& proposal, double seconds, bool exact) {
  PointSearch::learn(proposal, seconds, exact);
  unanswered_ -= unanswered_ > 0 ? 1 : 0;
  if (exact && (!centre_ || seconds < centre_->seconds)) { centre_ = {proposal.sketch, proposal.point, seconds}; }
}

void Climbing::reject(const Proposal& proposal) {
  PointSearch::reject(proposal);
  unanswered_ -= unanswered_ > 0 ? 1 : 0;
}

auto Climbing::propose_start(std::vector<Proposal>& out) -> bool {
  size_t sketch = starts_++ % sketches_.size();
  double best = std::numeric_limits<double>::infinity();
  Point start;
  for (int i = 0; i < start_draws; ++i) {
    Point point = random_point(sketch);
    if (arms_[sketch].seen.contains(point)) { continue; }
    double expected = score(sketch, point);
    if (expected < best) {
      best = expected;
      start = std::move(point);
    }
  }
  return std::isfinite(best) && take(sketch, start, best, out);
}

auto Climbing::propose(size_t count) -> std::vector<Proposal> {
  std::vector<Proposal> out;
  if (sketches_.empty()) { return out; }
  fit();
  if (centre_) {
    propose_beside(*centre_, count, out);
    // Every point beside the centre was measured and none was faster. The next measured point is the new centre.
    if (out.empty() && unanswered_ == 0) { centre_.reset(); }
  }
  if (out.empty()) {
    size_t wanted = std::min(count, std::max(most_starts, sketches_.size()));
    for (size_t i = 0; i < 2 * wanted && out.size() < wanted; ++i) { (void)propose_start(out); }
  }
  if (out.empty()) { fill(count, out); }
  unanswered_ += out.size();
  return out;
}

}  // namespace loopsmith::tune
