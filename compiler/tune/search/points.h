// The part that searches share: random points, small changes of a point, the list of points that were proposed, and the walk through the rest of a space.
#pragma once

#include <random>
#include <set>
#include <utility>

#include "tune/search/search.h"

namespace loopsmith::tune {

class PointSearch : public Search {
 public:
  void learn(const Proposal& proposal, double seconds, bool exact) override;
  void reject(const Proposal& proposal) override;
  void use_model(const ModelKind& kind) override;

 protected:
  struct Measured { Point point; double seconds; };
  struct Arm {
    std::unique_ptr<CostModel> model;
    std::vector<Measured> measured;   // fastest first
    int proposed = 0;
    int rejected = 0;
    std::set<Point> seen;
    Point next = {};                  // of the walk in order; empty: it has not begun
    bool is_walked = false;           // the walk has met every point
  };

  PointSearch(const Sketches& sketches, uint64_t seed);

  [[nodiscard]] auto draw(uint64_t below) -> uint64_t { return random_() % below; }
  /// A number from 0 up to 1.
  [[nodiscard]] auto draw_share() -> double { return static_cast<double>(draw(1U << 20)) / (1U << 20); }
  /// Larger sketches are drawn more often, but each is drawn.
  [[nodiscard]] auto random_sketch() -> size_t;
  [[nodiscard]] auto random_point(size_t sketch) -> Point;
  /// Draws points into `scratch_` until the draft accepts one. False: it accepts none of many.
  [[nodiscard]] auto valid_random_point(size_t sketch) -> bool;
  /// The point with another choice of one knob, at times of two. Neighbours in a long list of choices are preferred.
  [[nodiscard]] auto mutate(size_t sketch, Point point) -> Point;
  /// The points that differ from one in a single knob and were not proposed yet. A knob with many choices moves only to those near in its list.
  [[nodiscard]] auto neighbours(size_t sketch, const Point& centre) const -> std::vector<Point>;
  /// Points that were not proposed yet, in order: neighbours of the best measured ones, `centres` at most, and up to `drawn` random points.
  [[nodiscard]] auto fresh_points(size_t sketch, size_t centres, size_t drawn) -> std::vector<Point>;
  /// The draft, corrected by the measurements of the sketch.
  [[nodiscard]] auto score(size_t sketch, const Point& point) const -> double;
  /// Makes `score` use all measurements.
  void fit();

  /// Adds a proposal. False: the point was proposed earlier.
  auto take(size_t sketch, const Point& point, double expected, std::vector<Proposal>& out) -> bool;
  /// Adds a proposal with the draft as expected time. False: the point was proposed earlier, or the draft does not accept it.
  auto take_drafted(size_t sketch, const Point& point, std::vector<Proposal>& out) -> bool;
  void propose_at_random(size_t wanted, std::vector<Proposal>& out);
  /// Adds the next points in order, of all sketches in turn. Each point of the space is met once, so this ends where the space is exhausted.
  void propose_in_order(size_t wanted, std::vector<Proposal>& out);
  /// Fills up to `count` proposals, at random and then in order.
  void fill(size_t count, std::vector<Proposal>& out);

  const Sketches& sketches_;
  std::mt19937_64 random_;
  std::vector<Arm> arms_;
  Point scratch_;
  double best_ = 0;   // of all sketches; 0: none was measured

 private:
  auto walk(size_t sketch, size_t most_drafts, std::vector<Proposal>& out) -> bool;
  size_t turn_ = 0;   // of `propose_in_order`
};

}  // namespace loopsmith::tune
