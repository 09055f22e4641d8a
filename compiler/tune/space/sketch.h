// A design space: a few sketches, each a recipe of primitives with open knobs.
//
// A *knob* is a decision with a list of choices (tile sizes of a loop, packing an operand or not); a *point* is one
// choice per knob. A sketch turns a point into schedule primitives that a person could have typed. From the point alone it predicts the time
// (cost/draft.h) and computes features for the residual model. Points take a few bytes: the search works on points and builds schedules only for the few that are
// measured.
//
// One file per rule; space/all.cpp lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cost/draft.h"
#include "cost/kernel_estimate.h"
#include "schedule/schedule.h"
#include "target/hardware.h"

namespace loopsmith::tune {

using cost::CoreModel;
using cost::Nest;
using cost::NestAccess;
using cost::NestLoop;

struct Knob {
  std::string name;
  /// Each choice is a list of numbers: the factors of a tile, an index, 0 or 1.
  std::vector<std::vector<int64_t>> choices;
  /// The choice of points that are drawn at random; none: all choices have the same chance.
  std::optional<uint16_t> usual = {};
  /// The choices as text, for people; empty: their numbers.
  std::vector<std::string> texts = {};
};

/// One choice per knob, by index.
using Point = std::vector<uint16_t>;

class Sketch {
 public:
  virtual ~Sketch() = default;
  [[nodiscard]] auto name() const -> const std::string& { return name_; }
  [[nodiscard]] auto knobs() const -> const std::vector<Knob>& { return knobs_; }
  /// The blocks that the recipe schedules or inlines. Another sketch may schedule other blocks.
  [[nodiscard]] auto blocks() const -> const std::set<std::string>& { return covered_; }
  /// The number of points; saturates at 1e18.
  [[nodiscard]] auto size() const -> double;

  /// The program that a point schedules, where it is another one than that of the space: a template may compute its result in another way for each choice. It has the
  /// parameters of the space's program. Null: that program.
  [[nodiscard]] virtual auto own_program(const Point& /*point*/) const -> IRModule { return {}; }
  /// Applies the recipe to a schedule of the point's program. An error means that the point is not legal and is skipped.
  [[nodiscard]] virtual auto apply(schedule::Schedule& sch, const Point& point) const -> Status = 0;
  /// The steps of a point as a trace, where they are known without applying them; none: only `apply` finds them.
  [[nodiscard]] virtual auto known_trace(const Point& /*point*/) const -> std::optional<schedule::Trace> { return {}; }
  /// The trial of a point as a line in a log of one of TVM's older tuners; empty: the sketch is of no such tuner. `seconds`: 0 for a trial without a time.
  [[nodiscard]] virtual auto log_line(const Point& /*point*/, double /*seconds*/) const -> std::string { return {}; }
  /// The expected seconds; infinity for points that are not worth measuring (far too many registers, too few tasks).
  [[nodiscard]] virtual auto draft(const Point& point) const -> double = 0;
  /// The input of the residual model; it has the same length for all points of the sketch.
  [[nodiscard]] virtual auto features(const Point& point) const -> std::vector<double> = 0;
  /// A point near another one, by the mutators of the space; its random numbers follow from `seed`. None: the space has no mutators, or the drawn one has no
  /// change for this point.
  [[nodiscard]] virtual auto mutated(const Point& /*point*/, int64_t /*seed*/) const -> std::optional<Point> { return {}; }
  [[nodiscard]] virtual auto has_mutators() const -> bool { return false; }
  /// The number of points that a search keeps and breeds; smaller where a draft takes long.
  [[nodiscard]] virtual auto population() const -> size_t { return 384; }

 protected:
  [[nodiscard]] auto chosen(const Point& point, size_t knob) const -> const std::vector<int64_t>& {
    return knobs_[knob].choices[point[knob]];
  }
  std::string name_;
  std::vector<Knob> knobs_;
  std::set<std::string> covered_;
};

/// The input of a rule.
struct SpaceContext {
  const IRModule& module;
  Name function;
  target::Hardware hardware;
  CoreModel core;
  std::set<std::string> taken = {};   // blocks that another sketch schedules; a rule does not touch them
  std::optional<cost::GpuModel> gpu = {};   // for targets of devices
  std::function<bool()> is_over = {};       // called often; true: the search ends, and slow drafts refuse all points
};

using Sketches = std::vector<std::unique_ptr<Sketch>>;

// The rules add sketches where they apply: all for the same blocks, the heaviest ones that are not taken.
void add_tile_sketches(const SpaceContext& context, Sketches& out);     // space/tile.cpp: a reduction with data reuse, and the elementwise blocks around it
void add_row_sketches(const SpaceContext& context, Sketches& out);      // space/rows.cpp: a chain over common outer loops
void add_reduce_sketches(const SpaceContext& context, Sketches& out);   // space/reduce.cpp: a reduction that reads each element once
void add_flat_sketches(const SpaceContext& context, Sketches& out);     // space/flat.cpp: every block separately
// The sketches of whole programs: those of the rules above for one heavy block after the other. space/stages.cpp
void add_staged_sketches(const SpaceContext& context, Sketches& out);
// A product on matrix and dot-product units; the rest of the program does not change. space/unit.cpp
void add_unit_sketches(const SpaceContext& context, Sketches& out);

/// All sketches for a function. Never empty for a schedulable function: if no rule applies, the program as written is a sketch.
[[nodiscard]] auto design_space(const SpaceContext& context) -> Sketches;

}  // namespace loopsmith::tune
