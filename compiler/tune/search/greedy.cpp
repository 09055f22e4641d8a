// The greedy search: of all points that differ from the centre in one knob it takes those with the best score, and moves as soon as one is faster.
#include <algorithm>
#include <cmath>

#include "tune/search/climbing.h"

namespace loopsmith::tune {
namespace {

class Greedy : public Climbing {
 public:
  Greedy(const Sketches& sketches, uint64_t seed) : Climbing(sketches, seed) {}
  // A large batch would measure neighbours of a centre that is no longer the best.
  [[nodiscard]] auto batch() const -> size_t override { return 8; }

 protected:
  void propose_beside(const Centre& centre, size_t count, std::vector<Proposal>& out) override {
    std::vector<std::pair<double, Point>> near;
    for (Point& point : neighbours(centre.sketch, centre.point)) {
      double expected = score(centre.sketch, point);
      if (std::isfinite(expected)) { near.emplace_back(expected, std::move(point)); }
    }
    std::sort(near.begin(), near.end());
    for (const auto& [expected, point] : near) {
      if (out.size() >= count) { break; }
      (void)take(centre.sketch, point, expected, out);
    }
  }
};

}  // namespace

auto make_greedy(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Greedy>(sketches, seed); }

}  // namespace loopsmith::tune
