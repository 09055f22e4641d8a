// A bandit over sketches: each trial goes to the sketch with the highest upper confidence bound (UCB1) on its best speed. Inside a sketch the point with the
// best score is taken, among random points and neighbours of its best.
#include <algorithm>
#include <cmath>

#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

constexpr double exploration = 0.3;
constexpr size_t most_drawn = 64;     // random points for one batch of a sketch
constexpr size_t centres = 2;         // measured points whose neighbours are candidates

class Bandit : public PointSearch {
 public:
  Bandit(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed), pools_(sketches.size()) {}
  [[nodiscard]] auto batch() const -> size_t override { return 8; }

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    if (sketches_.empty()) { return out; }
    fit();
    pools_.assign(sketches_.size(), {});
    std::vector<bool> is_drawn(sketches_.size()), is_empty(sketches_.size());
    while (out.size() < count) {
      const size_t arm = highest_bound(is_empty);
      if (arm == sketches_.size()) { break; }
      if (!is_drawn[arm]) {
        is_drawn[arm] = true;
        pools_[arm] = candidates(arm);
      }
      if (pools_[arm].empty()) {
        is_empty[arm] = true;
        continue;
      }
      (void)take(arm, pools_[arm].back().second, pools_[arm].back().first, out);
      pools_[arm].pop_back();
    }
    fill(count, out);
    return out;
  }

 private:
  /// The number of sketches where all are empty. A sketch without proposals comes first.
  [[nodiscard]] auto highest_bound(const std::vector<bool>& is_empty) const -> size_t {
    double total = 1, highest = -1;
    for (const Arm& arm : arms_) { total += arm.proposed; }
    size_t out = sketches_.size();
    for (size_t s = 0; s < arms_.size(); ++s) {
      const Arm& arm = arms_[s];
      if (is_empty[s]) { continue; }
      if (arm.proposed == 0) { return s; }
      const double value = arm.measured.empty() ? 0 : best_ / arm.measured.front().seconds;
      const double bound = value + exploration * std::sqrt(std::log(total) / arm.proposed);
      if (bound > highest) {
        highest = bound;
        out = s;
      }
    }
    return out;
  }

  /// Points that were not proposed yet; the best score last.
  auto candidates(size_t sketch) -> std::vector<std::pair<double, Point>> {
    std::vector<std::pair<double, Point>> out;
    for (Point& point : fresh_points(sketch, centres, most_drawn)) {
      const double expected = score(sketch, point);
      if (std::isfinite(expected)) { out.emplace_back(expected, std::move(point)); }
    }
    std::sort(out.rbegin(), out.rend());
    return out;
  }

  std::vector<std::vector<std::pair<double, Point>>> pools_;
};

}  // namespace

auto make_bandit(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Bandit>(sketches, seed); }

}  // namespace loopsmith::tune
