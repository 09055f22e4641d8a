// Simulated annealing on measured times. Several walks run side by side, so that a batch has several proposals. Each moves to a changed point when that is
// faster, or with a probability that falls with the loss and with the temperature. A walk that has cooled down begins anew at the fastest point of all.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

constexpr size_t most_walks = 8;
// The temperature is a logarithm of times: at 0.5 a point that takes 1.65 times as long is accepted with probability 1/e.
constexpr double hot = 0.5, cold = 0.02, cooling = 0.93;
constexpr int tries = 64;   // changes of a point until one is new

class Annealing : public PointSearch {
 public:
  Annealing(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed), walks_(std::max(most_walks, sketches.size())) {
    for (size_t i = 0; i < walks_.size() && !sketches_.empty(); ++i) { walks_[i].sketch = i % sketches_.size(); }
  }
  [[nodiscard]] auto batch() const -> size_t override { return walks_.size(); }

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    for (size_t i = 0; i < walks_.size() && out.size() < count && !sketches_.empty(); ++i) { step(next_++ % walks_.size(), out); }
    if (out.empty()) { fill(count, out); }
    return out;
  }

  void learn(const Proposal& proposal, double seconds, bool exact) override {
    PointSearch::learn(proposal, seconds, exact);
    if (exact && seconds <= best_) { fastest_ = {proposal.sketch, proposal.point, seconds}; }
    auto pending = pending_.find({proposal.sketch, proposal.point});
    if (pending == pending_.end()) { return; }
    Walk& walk = walks_[pending->second];
    pending_.erase(pending);
    walk.temperature *= cooling;
    const double loss = walk.seconds > 0 ? std::log(seconds / walk.seconds) : 0;
    if (loss <= 0 || draw_share() < std::exp(-loss / walk.temperature)) {
      walk.point = proposal.point;
      walk.sketch = proposal.sketch;
      walk.seconds = seconds;
    }
    if (walk.temperature < cold && fastest_) { walk = {fastest_->sketch, fastest_->point, fastest_->seconds, hot / 2}; }
  }

  void reject(const Proposal& proposal) override {
    PointSearch::reject(proposal);
    pending_.erase({proposal.sketch, proposal.point});
  }

 private:
  struct Walk { size_t sketch = 0; Point point = {}; double seconds = 0; double temperature = hot; };
  struct Fastest { size_t sketch; Point point; double seconds; };

  void step(size_t number, std::vector<Proposal>& out) {
    Walk& walk = walks_[number];
    for (int i = 0; i < tries; ++i) {
      // Until a walk has a measured point, it draws its start.
      Point point = walk.seconds > 0 ? mutate(walk.sketch, walk.point) : random_point(walk.sketch);
      if (!take_drafted(walk.sketch, point, out)) { continue; }
      pending_[{walk.sketch, std::move(point)}] = number;
      return;
    }
  }

  std::vector<Walk> walks_;
  std::map<std::pair<size_t, Point>, size_t> pending_;   // proposals without an answer, and their walks
  std::optional<Fastest> fastest_;
  size_t next_ = 0;
};

}  // namespace

auto make_annealing(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Annealing>(sketches, seed); }

}  // namespace loopsmith::tune
