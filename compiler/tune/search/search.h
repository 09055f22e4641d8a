// Chooses the points to measure next. Draft and residual model score thousands of points per second; evolution inside a sketch finds good points. One quota
// is reserved for neighbours of the best measured points, another for random points.
//
// Deterministic: the same sketches, seed and measurements give the same proposals. This allows sessions to resume.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tune/cost/residual.h"
#include "tune/space/sketch.h"

namespace loopsmith::tune {

enum class Strategy : uint8_t { Guided, Random };

struct Proposal {
  size_t sketch = 0;
  Point point;
  double expected_seconds = 0;
};

class Search {
 public:
  Search(const Sketches& sketches, uint64_t seed, Strategy strategy = Strategy::Guided);

  /// Up to `count` points that were never proposed before; fewer when the space is exhausted.
  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal>;

  /// Adds the measurement of a proposal. `exact` false: the true time is at least `seconds`.
  void learn(const Proposal& proposal, double seconds, bool exact);
  /// Excludes a point: it is not legal, or did not build, run or give the right result.
  void reject(const Proposal& proposal);

 private:
  struct Measured { Point point; double seconds; };
  struct Arm {
    ResidualModel residual;
    std::vector<Measured> measured;   // fastest first
    int proposed = 0;
    int rejected = 0;
    std::set<Point> seen;
  };
  /// The expected seconds of a point of a sketch.
  using Expected = std::pair<double, std::pair<size_t, Point>>;

  void propose_at_random(size_t wanted, std::vector<Proposal>& out);
  /// Proposes neighbours of the best measured points of the best sketch.
  void propose_neighbours(size_t count, std::vector<Proposal>& out);
  /// The points that differ from the given one in a single knob and were not proposed yet.
  [[nodiscard]] auto neighbours(size_t sketch, const Point& centre) const -> std::vector<Point>;
  /// The best points of all sketches that are worth it, `keep` of each; the fastest first.
  auto evolve_all(size_t keep) -> std::vector<Expected>;
  auto random_point(size_t sketch) -> Point;
  auto valid_random_point(size_t sketch) -> bool;   // into scratch_
  auto mutate(size_t sketch, Point point) -> Point;
  auto score(size_t sketch, const Point& point) const -> double;
  auto take(size_t sketch, const Point& point, double expected, std::vector<Proposal>& out) -> bool;
  auto evolve(size_t sketch, size_t keep) -> std::vector<std::pair<double, Point>>;
  auto draw(uint64_t below) -> uint64_t { return random_() % below; }

  const Sketches& sketches_;
  Strategy strategy_;
  std::mt19937_64 random_;
  std::vector<Arm> arms_;
  Point scratch_;
  double best_ = 0;
};

}  // namespace loopsmith::tune
