// Steepest descent on draft and model, in the manner of Felix: from random points and from the fastest measured ones it makes the change of one knob that improves the score
// most, until none does, and measures the points where it ends. Knobs are lists of choices, so differences take the place of derivatives.
#include <algorithm>
#include <cmath>
#include <optional>

#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

constexpr size_t centres = 2;              // fastest points of a sketch from which a descent begins
constexpr size_t scores_per_point = 4;     // the scores of one batch, as a multiple of the population of a sketch

class Gradient : public PointSearch {
 public:
  Gradient(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed) {}
  [[nodiscard]] auto batch() const -> size_t override { return 8; }

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    fit();
    std::vector<Found> ends;
    for (size_t s = 0; s < sketches_.size(); ++s) {
      size_t left = scores_per_point * sketches_[s]->population();
      for (size_t i = 0; i < std::min(centres, arms_[s].measured.size()) && left > 0; ++i) { descend(s, arms_[s].measured[i].point, left, ends); }
      for (size_t i = 0; i < count && left > 0 && valid_random_point(s); ++i) { descend(s, scratch_, left, ends); }
    }
    std::sort(ends.begin(), ends.end());
    for (const auto& [seconds, at] : ends) { if (out.size() < count) { (void)take(at.first, at.second, seconds, out); } }
    fill(count, out);
    return out;
  }

 private:
  using Found = std::pair<double, std::pair<size_t, Point>>;

  /// Adds the last point of the descent that was not proposed yet.
  void descend(size_t sketch, Point point, size_t& left, std::vector<Found>& ends) {
    double here = score(sketch, point);
    std::optional<Found> last;
    if (!arms_[sketch].seen.contains(point) && std::isfinite(here)) { last = Found{here, {sketch, point}}; }
    while (left > 0) {
      Point best;
      double least = here;
      // Around a measured point only new ones are steps, so that each batch goes on.
      for (Point& next : neighbours(sketch, point)) {
        if (left == 0) { break; }
        --left;
        const double expected = score(sketch, next);
        if (!last && std::isfinite(expected)) { last = Found{expected, {sketch, next}}; }
        if (last && expected < last->first) { last = Found{expected, {sketch, next}}; }
        if (expected < least) {
          least = expected;
          best = std::move(next);
        }
      }
      if (best.empty()) { break; }
      point = std::move(best);
      here = least;
    }
    if (last) { ends.push_back(*std::move(last)); }
  }
};

}  // namespace

auto make_gradient(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Gradient>(sketches, seed); }

}  // namespace loopsmith::tune
