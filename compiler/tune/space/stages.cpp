// Sketches of whole programs: applies the rules to the heaviest block, then to the heaviest of the remaining blocks, until none is left (two chained
// products, attention, the passes of a normalisation). The resulting sketches become stages of one sketch with the knobs of all, so that the search measures the
// time of the whole program. Small blocks that no rule covers are distributed over the cores and vectorized if that is legal.
#include <algorithm>

#include "tune/space/analysis.h"
#include "tune/space/sketch.h"
#include "tune/space/steps.h"

namespace loopsmith::tune {
namespace {

using schedule::Schedule;

// More stages would leave too few trials for each.
constexpr size_t most_stages = 8;
// A reduction with a smaller share of the work is not worth knobs.
constexpr double least_share = 0.002;
// Blocks smaller than this are not worth a parallel loop.
constexpr int64_t parallel_from = 16384;

using Stage = std::shared_ptr<const Sketch>;

class StagedSketch : public Sketch {
 public:
  StagedSketch(const SpaceContext& context, std::vector<Stage> stages, std::vector<BlockFact> rest)
      : stages_(std::move(stages)), rest_(std::move(rest)), core_(context.core) {
    for (const Stage& stage : stages_) {
      name_ += (name_.empty() ? "" : ", ") + stage->name();
      knobs_.insert(knobs_.end(), stage->knobs().begin(), stage->knobs().end());
      covered_.insert(stage->blocks().begin(), stage->blocks().end());
    }
    for (const BlockFact& block : rest_) { covered_.insert(block.name); }
  }

  auto apply(Schedule& sch, const Point& point) const -> Status override {
    size_t knob = 0;
    for (const Stage& stage : stages_) { LOOPSMITH_CHECK(stage->apply(sch, part(point, *stage, knob))); }
    for (const BlockFact& block : rest_) {
      // A block that refuses this step stays unchanged.
      Schedule before = sch;
      if (!apply_to_rest(sch, block).ok()) { sch = before; }
    }
    return ok();
  }

  auto draft(const Point& point) const -> double override {
    double seconds = 0;
    size_t knob = 0;
    for (const Stage& stage : stages_) { seconds += stage->draft(part(point, *stage, knob)); }
    for (const BlockFact& block : rest_) { seconds += block.instances * (block.flops + 2) / core_.clock; }
    return seconds;
  }

  auto features(const Point& point) const -> std::vector<double> override {
    std::vector<double> out;
    size_t knob = 0;
    for (const Stage& stage : stages_) {
      std::vector<double> of_stage = stage->features(part(point, *stage, knob));
      out.insert(out.end(), of_stage.begin(), of_stage.end());
    }
    return out;
  }

 private:
  /// The choices for the knobs of a stage, which begin at `knob`; sets `knob` to the first knob of the next stage.
  static auto part(const Point& point, const Sketch& stage, size_t& knob) -> Point {
    auto begin = point.begin() + static_cast<std::ptrdiff_t>(knob);
    knob += stage.knobs().size();
    return {begin, begin + static_cast<std::ptrdiff_t>(stage.knobs().size())};
  }

  auto apply_to_rest(Schedule& sch, const BlockFact& fact) const -> Status {
    if (fact.instances <= 1) { return ok(); }
    LOOPSMITH_TRY(block, get_block(sch, fact.name));
    if (!fact.has_reduction) { return flatten_block(sch, block, static_cast<int>(core_.lanes), parallel_from); }
    if (fact.instances < static_cast<double>(parallel_from) || fact.loops.empty() || fact.loops.front().is_reduction) { return ok(); }
    LOOPSMITH_TRY(loops, get_loops(sch, block));
    LOOPSMITH_TRY(spread, sch.call("parallel", {loops.front()}));
    (void)spread;
    return ok();
  }

  std::vector<Stage> stages_;
  std::vector<BlockFact> rest_;
  CoreModel core_;
};

/// Adds the sketches of a product: on units of the machine, and as vector code.
void add_product_sketches(const SpaceContext& context, Sketches& out) {
  add_unit_sketches(context, out);
  add_tile_sketches(context, out);
}

/// Finds the sketches for one heavy block after the other; for each, those that a rule offers for the same blocks.
auto find_stages(SpaceContext context, const std::vector<BlockFact>& blocks) -> std::vector<std::vector<Stage>> {
  double work = 0;
  for (const BlockFact& block : blocks) { work += block.instances * block.flops; }
  for (const BlockFact& block : blocks) {
    if (block.has_reduction && block.instances * block.flops < least_share * work) { context.taken.insert(block.name); }
  }
  std::vector<std::vector<Stage>> stages;
  for (auto* rule : {add_product_sketches, add_row_sketches, add_reduce_sketches}) {
    while (stages.size() < most_stages) {
      Sketches found;
      rule(context, found);
      if (found.empty()) { break; }
      std::vector<Stage> stage;
      for (auto& sketch : found) {
        context.taken.insert(sketch->blocks().begin(), sketch->blocks().end());
        stage.emplace_back(std::move(sketch));
      }
      stages.push_back(std::move(stage));
    }
  }
  // A schedule is easiest to read in the order of the program.
  auto first_block = [&](const std::vector<Stage>& stage) {
    return std::find_if(blocks.begin(), blocks.end(), [&](const BlockFact& block) { return stage.front()->blocks().contains(block.name); });
  };
  std::sort(stages.begin(), stages.end(), [&](const auto& a, const auto& b) { return first_block(a) < first_block(b); });
  return stages;
}

}  // namespace

void add_staged_sketches(const SpaceContext& context, Sketches& out) {
  schedule::State state(context.module);
  const schedule::FuncState* func = state.func(context.function);
  if (!func || !func->is_schedulable()) { return; }
  std::vector<BlockFact> blocks = analyze(*func);
  std::vector<std::vector<Stage>> stages = find_stages(context, blocks);
  if (stages.empty()) { return; }
  size_t variants = 1;
  for (const auto& stage : stages) { variants = std::max(variants, stage.size()); }
  for (size_t variant = 0; variant < variants; ++variant) {
    std::vector<Stage> chosen;
    for (const auto& stage : stages) { chosen.push_back(stage[std::min(variant, stage.size() - 1)]); }
    std::vector<BlockFact> rest;
    for (const BlockFact& block : blocks) {
      if (std::none_of(chosen.begin(), chosen.end(), [&](const Stage& stage) { return stage->blocks().contains(block.name); })) { rest.push_back(block); }
    }
    out.push_back(std::make_unique<StagedSketch>(context, std::move(chosen), std::move(rest)));
  }
  // A product inside of a chain of rows may also be computed row by row.
  Sketches whole;
  add_row_sketches(context, whole);
  for (auto& sketch : whole) {
    if (stages.size() > 1 && sketch->blocks().size() == blocks.size()) { out.push_back(std::move(sketch)); }
  }
}

}  // namespace loopsmith::tune
