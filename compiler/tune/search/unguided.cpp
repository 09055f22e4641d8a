// Searches that learn nothing: at random, in order, and MetaSchedule's `replay-trace`. Others are compared with these.
#include <cmath>
#include <limits>

#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

class Random : public PointSearch {
 public:
  Random(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed) {}
  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    fill(count, out);
    return out;
  }
};

class Grid : public PointSearch {
 public:
  explicit Grid(const Sketches& sketches) : PointSearch(sketches, 0) {}
  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    propose_in_order(count, out);
    return out;
  }
};

/// Draws a sketch, then a choice for each of its knobs, all with equal chances. No draft is computed: the replay decides which points are legal.
class ReplayTrace : public PointSearch {
 public:
  ReplayTrace(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed) {}
  [[nodiscard]] auto batch() const -> size_t override { return 64; }
  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    // TVM's `max_fail_count`, for each point that is wanted.
    constexpr size_t most_fails = 100;
    std::vector<Proposal> out;
    for (size_t i = 0; i < count * most_fails && out.size() < count && !sketches_.empty(); ++i) {
      size_t sketch = draw(sketches_.size());
      (void)take(sketch, random_point(sketch), 0, out);
    }
    if (out.size() < count) { propose_in_order(count - out.size(), out); }
    return out;
  }
};

}  // namespace

auto make_random(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Random>(sketches, seed); }
auto make_grid(const Sketches& sketches, uint64_t /*seed*/) -> std::unique_ptr<Search> { return std::make_unique<Grid>(sketches); }
auto make_replay_trace(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<ReplayTrace>(sketches, seed); }

}  // namespace loopsmith::tune
