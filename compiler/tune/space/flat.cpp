// Each block separately: outer loops in parallel, the innermost vectorized, elementwise blocks inlined by choice. This is the whole space of elementwise
// programs, and the fallback for programs that no other rule covers.
#include <algorithm>
#include <cmath>

#include "tune/space/analysis.h"
#include "tune/space/sketch.h"
#include "tune/space/steps.h"

namespace loopsmith::tune {
namespace {

using schedule::Schedule;

class FlatSketch : public Sketch {
 public:
  FlatSketch(const SpaceContext& context, std::vector<BlockFact> blocks)
      : blocks_(std::move(blocks)), core_(context.core), lanes_(static_cast<int>(context.core.lanes)) {
    name_ = "every block for itself";
    for (const BlockFact& block : blocks_) {
      Knob knob{block.name, {{leave}, {spread}, {vectors_only}}};
      if (block.is_simple && !block.has_reduction && !block.is_output && !block.consumers.empty()) { knob.choices.push_back({inline_it}); }
      knobs_.push_back(std::move(knob));
    }
  }

  auto apply(Schedule& sch, const Point& point) const -> Status override {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (chosen(point, i)[0] != inline_it) { continue; }
      LOOPSMITH_TRY(block, get_block(sch, blocks_[i].name));
      LOOPSMITH_TRY(gone, sch.call("compute_inline", {block}));
      (void)gone;
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      int64_t how = chosen(point, i)[0];
      if (how == inline_it || how == leave) { continue; }
      LOOPSMITH_TRY(block, get_block(sch, blocks_[i].name));
      const BlockFact& fact = blocks_[i];
      if (fact.has_reduction) {
        LOOPSMITH_TRY(loops, get_loops(sch, block));
        if (loops.empty() || fact.loops.front().is_reduction || how == vectors_only) { continue; }
        LOOPSMITH_TRY(done, sch.call("parallel", {loops.front()}));
        (void)done;
        continue;
      }
      LOOPSMITH_CHECK(flatten_block(sch, block, lanes_, how == spread ? 0 : INT64_MAX));
    }
    return ok();
  }

  auto draft(const Point& point) const -> double override {
    double seconds = 0;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const BlockFact& fact = blocks_[i];
      double work = fact.instances * (fact.flops + 2);
      switch (chosen(point, i)[0]) {
        case inline_it: seconds += 0.3 * work / core_.lanes / core_.clock; break;
        case leave: seconds += work / core_.clock; break;
        case spread: seconds += work / (fact.has_reduction ? 1 : core_.lanes) / core_.cores / core_.clock + core_.fork_seconds; break;
        default: seconds += work / (fact.has_reduction ? 1 : core_.lanes) / core_.clock;
      }
    }
    return seconds + 1e-9;
  }

  auto features(const Point& point) const -> std::vector<double> override {
    std::vector<double> out;
    for (size_t k = 0; k < knobs_.size(); ++k) {
      for (int64_t how = leave; how <= inline_it; ++how) { out.push_back(chosen(point, k)[0] == how ? 1 : 0); }
    }
    return out;
  }

 private:
  enum How : int64_t { leave, spread, vectors_only, inline_it };
  std::vector<BlockFact> blocks_;
  CoreModel core_;
  int lanes_;
};

}  // namespace

void add_flat_sketches(const SpaceContext& context, Sketches& out) {
  schedule::State state(context.module);
  const schedule::FuncState* func = state.func(context.function);
  if (!func || !func->is_schedulable()) { return; }
  out.push_back(std::make_unique<FlatSketch>(context, analyze(*func)));
}

}  // namespace loopsmith::tune
