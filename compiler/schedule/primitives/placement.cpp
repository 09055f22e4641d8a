// Primitives that choose where a block runs: compute_at, reverse_compute_at, and sample_compute_location, which draws a place. The loops of the
// block are built anew, over exactly the region that an iteration of the target loop needs. Sources: Halide's compute_at; TensorIR (ASPLOS'23).
//
// A plan is made in steps, each in a file of schedule/placement: the places of the block and its neighbours (relocation.h), the instances that are
// needed (region_solving.h), the new loops (nest.h), then legality: the elements that the block reads (reads.h), its instances and their order
// (moved_instances.h), loops whose iterations run at the same time (concurrency.h). The rewrite takes the plan.
#include "schedule/placement.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/placement/concurrency.h"
#include "schedule/placement/moved_instances.h"
#include "schedule/placement/nest.h"
#include "schedule/placement/reads.h"
#include "schedule/placement/region_solving.h"
#include "schedule/placement/relocation.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "support/codes.h"
#include "support/fault.h"

namespace loopsmith::schedule {

using namespace placement;                   // NOLINT: the steps of this file's plans

namespace {

// The buffers of regions, each with the region that an instance of the block provides.
auto provided_by(const Array<BufferRegion>& regions) -> std::vector<BufferNeed> {
  std::vector<BufferNeed> out;
  for (const BufferRegion& region : regions) {
    Box box;
    for (const Range& range : region.region) { box.push_back(arith::IntSet::from_range(range)); }
    auto found = std::find_if(out.begin(), out.end(), [&](const BufferNeed& need) { return need.buffer == region.buffer.get(); });
    if (found == out.end()) { found = out.insert(out.end(), {region.buffer.get(), {}, {}}); }
    found->provided.push_back(std::move(box));
  }
  return out;
}

auto need_of(std::vector<BufferNeed>& needs, const Buffer& buffer) -> BufferNeed* {
  for (BufferNeed& need : needs) {
    if (need.buffer == buffer.get()) { return &need; }
  }
  return nullptr;
}

// Indices that are loaded from a buffer are guarded by the predicate of their block. New loops made from such indices would not be guarded.
auto require_no_guarded_indices(const Relocation& move, const Place& other) -> Status {
  bool loads = false;
  for (const auto* regions : {&other.block()->reads, &other.block()->writes}) {
    for (const BufferRegion& region : *regions) {
      for (const Range& range : region.region) { post_order(range.min, [&](const Expr& e) { loads = loads || e.as<BufferLoad>(); }); }
    }
  }
  return is_one(other.realize->predicate) || !loads ? ok() : Status(move.output_not_solved(other.name().view()));
}

// For compute_at: the block provides the regions that it writes, and its consumers require theirs.
auto needs_of_consumers(const Relocation& move) -> Result<std::vector<BufferNeed>> {
  std::vector<BufferNeed> needs = provided_by(move.moved().writes);
  for (NodeId id : move.consumers) {
    const Place& other = *move.func.find(id);
    LOOPSMITH_CHECK(require_no_guarded_indices(move, other));
    for (const BufferRegion& region : other.block()->reads) {
      if (BufferNeed* need = need_of(needs, region.buffer)) { need->required.push_back(relaxed(move.func, other, *move.loop, region, Threads::OfAllThatShare)); }
    }
    // A hidden read may need any element.
    for (const Buffer& buffer : move.func.hidden_reads(other)) {
      BufferNeed* need = need_of(needs, buffer);
      if (!need) { continue; }
      Box whole;
      for (const Expr& extent : buffer->shape) { whole.push_back(arith::IntSet::from_min_extent(zero(extent.dtype()), extent)); }
      need->required.push_back(std::move(whole));
    }
  }
  return needs;
}

// For reverse_compute_at: the block provides the regions that it reads. Its producers require that these stay within their output.
auto needs_of_producers(const Relocation& move) -> Result<std::vector<BufferNeed>> {
  std::vector<BufferNeed> needs = provided_by(move.moved().reads);
  for (NodeId id : move.producers) {
    const Place& other = *move.func.find(id);
    LOOPSMITH_CHECK(require_no_guarded_indices(move, other));
    for (const BufferRegion& region : other.block()->writes) {
      if (BufferNeed* need = need_of(needs, region.buffer)) { need->required.push_back(relaxed(move.func, other, *move.loop, region, Threads::AtOne)); }
    }
  }
  return needs;
}

// The diagnostic for a block that reads windows of elements from several iterations. None: this is not proved.
auto reads_across(const Relocation& move, const BufferNeed& need, arith::Analyzer& analyzer) -> std::optional<Diagnostic> {
  Box provided = unite(need.provided);
  if (!dimension_read_across(move.moved(), provided, unite(need.required), analyzer)) { return {}; }
  std::vector<std::string> indices;
  for (const arith::IntSet& set : provided) {
    bool is_point = set.can_prove_single_point(analyzer);
    std::string begin = print_script(analyzer.simplify(set.min()));
    indices.push_back(is_point ? begin : fmt::format("{}:{}", begin, print_script(analyzer.simplify(set.max() + one(set.max().dtype())))));
  }
  return note_loop(note_block(move.error(Code::ReadsAcross).arg("window", fmt::format("{}[{}]", need.buffer->name.view(), fmt::join(indices, ", "))), *move.block), *move.loop);
}

}  // namespace

auto plan_compute_at(const Context& cx, const BlockArg& block, const LoopArg& loop, PlacementOptions options) -> Result<Placement> {
  LOOPSMITH_TRY(move, begin_relocation(cx, block, loop));
  LOOPSMITH_CHECK(require_no_output(move));
  LOOPSMITH_CHECK(require_domains_at_loop(move));
  LOOPSMITH_TRY(removal, plan_removal(cx, move.func, *block));
  LOOPSMITH_TRY(position, position_before_consumers(move, options.index));
  LOOPSMITH_CHECK(require_behind_producers(move));

  arith::Analyzer analyzer;
  bind_surroundings(move, analyzer);
  LOOPSMITH_TRY(needs, needs_of_consumers(move));
  Solution solution = solve_regions(move.moved(), needs, Precision::AtLeast, analyzer);
  if (solution.unsolved) { return move.region_not_solved(solution.unsolved->buffer->name.view()); }
  LOOPSMITH_TRY(nest, make_nest(move, std::move(solution.needed), options.preserve_unit_loops, analyzer));

  LOOPSMITH_CHECK(require_known_starts(move, nest));
  LOOPSMITH_CHECK(require_update_order(move, nest));
  LOOPSMITH_CHECK(require_instances_once(move, nest, {}));
  LOOPSMITH_CHECK(require_apart_from_makers(move, nest));
  LOOPSMITH_CHECK(require_reads_made(move, nest, analyzer));
  LOOPSMITH_CHECK(require_ran_before(move, InstancesOf::ReductionIters));
  LOOPSMITH_CHECK(require_no_new_values(move, nest));
  LOOPSMITH_CHECK(require_plain_predicate(move));
  LOOPSMITH_CHECK(require_init_first(move, nest));
  return Placement{std::move(removal), position, std::move(nest)};
}

auto plan_reverse_compute_at(const Context& cx, const BlockArg& block, const LoopArg& loop, PlacementOptions options) -> Result<Placement> {
  LOOPSMITH_TRY(move, begin_relocation(cx, block, loop));
  LOOPSMITH_CHECK(require_domains_at_loop(move));
  // Loops over a part of the iter vars' domains (a triangle) would be built anew over the whole domains.
  LOOPSMITH_CHECK(require_independent_loops(cx, move.func, *block));
  LOOPSMITH_TRY(removal, plan_removal(cx, move.func, *block));
  LOOPSMITH_TRY(position, position_behind_producers(move, options.index));
  LOOPSMITH_CHECK(require_behind_producers(move));

  arith::Analyzer analyzer;
  bind_surroundings(move, analyzer);
  LOOPSMITH_TRY(needs, needs_of_producers(move));
  Solution solution = solve_regions(move.moved(), needs, Precision::Exactly, analyzer);
  if (solution.unsolved) {
    if (auto across = reads_across(move, *solution.unsolved, analyzer)) { return std::move(*across); }
    return move.region_not_solved(solution.unsolved->buffer->name.view());
  }
  LOOPSMITH_TRY(nest, make_nest(move, std::move(solution.needed), options.preserve_unit_loops, analyzer));

  LOOPSMITH_CHECK(require_all_output_runs(move, nest, analyzer));
  LOOPSMITH_CHECK(require_known_starts(move, nest));
  LOOPSMITH_CHECK(require_reads_after_producers(move, nest, needs.size() > 1, analyzer));
  LOOPSMITH_CHECK(require_update_order(move, nest));
  LOOPSMITH_CHECK(require_instances_once(move, nest, move.producers));
  LOOPSMITH_CHECK(require_apart_from_others(move, nest, analyzer));
  LOOPSMITH_CHECK(require_ran_before(move, InstancesOf::AllIters));
  LOOPSMITH_CHECK(require_plain_predicate(move));
  LOOPSMITH_CHECK(require_good_iterations(move, nest));
  return Placement{std::move(removal), position, std::move(nest)};
}

namespace primitives {
namespace {

struct PlacementArgs {
  BlockArg block;
  LocationArg loop;
  bool preserve_unit_loops = false;
  int64_t index = -1;
  [[nodiscard]] auto options() const -> PlacementOptions { return {preserve_unit_loops, index}; }
};
// sample_compute_location may have decided to leave the block where it is, or to inline it.
using PlacementPlan = std::variant<std::monostate, Outcome, Placement>;

auto place_block(const Context& cx, const PlacementArgs& args, const PlacementPlan& plan) -> Outcome {
  if (std::holds_alternative<std::monostate>(plan)) { return {}; }
  if (const auto* inlined = std::get_if<Outcome>(&plan)) { return *inlined; }
  const auto& placement = std::get<Placement>(plan);
  Outcome out;
  out.func = args.block.func->name();
  out.rewrite.changes.push_back(placement.removal);
  out.rewrite.inserts.push_back({args.loop->id, placement.position, nest_stmt(cx, args.block, args.loop, placement.nest)});
  return out;
}

/// Runs a block just before it is needed, under a loop of its consumers, over the region that an iteration needs.
///
///     for i in range(64):                    for i0 in range(8):
///         B[i] = A[i] * 2.0        ==>           for ax0 in range(8):
///     for i0, i1 in T.grid(8, 8):                    B[i0 * 8 + ax0] = A[i0 * 8 + ax0] * 2.0
///         C[i0 * 8 + i1] = B[i0 * 8 + i1]        for i1 in range(8):
///                                                    C[i0 * 8 + i1] = B[i0 * 8 + i1]
///
/// Needs  a stage pipeline; a complete or reduction block whose outputs its scope allocates; a loop of the same scope,
///        not around the block, with all consumers below; indices that can be solved for the iter vars; no predicate except bounds of
///        iter vars; updates that may run in another order, or keep their order.
/// Keeps  results bit for bit; instances may run more than once if several iterations need them.
struct ComputeAt {
  using Args = PlacementArgs;
  using Plan = PlacementPlan;
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    if (args.loop.mark == LocationArg::Mark::Root) { return Plan{}; }
    if (args.loop.mark == LocationArg::Mark::Inline) { LOOPSMITH_TRY(inlined, plan_inline(cx, args.block, false)); return Plan(std::move(inlined)); }
    LOOPSMITH_TRY(placement, plan_compute_at(cx, args.block, args.loop, args.options()));
    return Plan(std::move(placement));
  }
  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome { return place_block(cx, args, plan); }
};

/// Runs a block as early as possible, under a loop of its producers, over the region that an iteration makes.
///
///     for i0, i1 in T.grid(8, 8):            for i0 in range(8):
///         B[i0 * 8 + i1] = ...               for i1 in range(8):
///     for i in range(64):          ==>               B[i0 * 8 + i1] = ...
///         C[i] = B[i] + 1.0                      for ax0 in range(8):
///                                                    C[i0 * 8 + ax0] = B[i0 * 8 + ax0] + 1.0
///
/// Needs  a stage pipeline; a complete or reduction block; a loop of the same scope, not around the block, with all
///        producers below; indices that can be solved for the iter vars; no predicate except bounds of iter vars; sums that are complete
///        when they are read; updates that may run in another order, or keep their order.
/// Keeps  results bit for bit.
struct ReverseComputeAt {
  using Args = PlacementArgs;
  using Plan = PlacementPlan;
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    if (args.loop.mark == LocationArg::Mark::Root) { return Plan{}; }
    if (args.loop.mark == LocationArg::Mark::Inline) { LOOPSMITH_TRY(inlined, plan_inline(cx, args.block, true)); return Plan(std::move(inlined)); }
    LOOPSMITH_TRY(placement, plan_reverse_compute_at(cx, args.block, args.loop, args.options()));
    return Plan(std::move(placement));
  }
  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome { return place_block(cx, args, plan); }
};

// A place where a block could be computed: -2 inlined, -1 at its present place, else the number of a loop around its first consumer.
struct Location { int64_t index; NodeId id; };
auto list_locations(const Context& cx, const BlockArg& block) -> std::vector<Location> {
  const FuncState& func = *block.func;
  std::vector<Location> out;
  if (plan_inline(cx, block, false).ok()) { out.push_back({-2, LocationArg::inline_mark}); }
  out.push_back({-1, LocationArg::root_mark});
  std::vector<NodeId> consumers = consumers_of(func, *block);
  if (consumers.empty()) { return out; }
  const Place* boundary = func.parent(*func.find(consumers[0]));
  for (NodeId id : consumers) {
    while (boundary && !func.is_below(*func.find(id), *boundary)) { boundary = func.parent(*boundary); }
  }
  if (!boundary || !boundary->is_loop()) { return out; }
  std::vector<const Place*> loops = func.loops(*func.find(consumers[0]));
  size_t count = static_cast<size_t>(std::find(loops.begin(), loops.end(), boundary) - loops.begin()) + 1;
  if (count > loops.size()) { return out; }
  // The outer loops that feed only spatial iter vars: up to the last such loop, and before the first loop that feeds others.
  std::vector<bool> is_spatial(count);
  size_t last_spatial = 0;
  bool any_spatial = false;
  for (size_t i = 0; i < count; ++i) {
    bool spatial = true;
    for (const Place* below : func.child_blocks(*loops[i])) {
      for (size_t k = 0; k < below->realize->iter_values.size(); ++k) {
        if (below->block()->iter_vars[k].kind == IterKind::Spatial) { continue; }
        spatial &= !uses_var(below->realize->iter_values[k], [&](const VarNode& v) { return &v == loops[i]->loop->var.get(); });
      }
    }
    is_spatial[i] = spatial;
    if (spatial) {
      last_spatial = i;
      any_spatial = true;
    }
  }
  bool seen_other = false;
  for (size_t i = 0; i < count; ++i) {
    if (is_one(loops[i]->loop->extent)) { continue; }
    if (is_spatial[i]) {
      if (seen_other) { break; }
    } else {
      seen_other = true;
      if (!any_spatial || i > last_spatial) { break; }
    }
    LoopArg loop;
    loop.func = block.func;
    loop.place = loops[i];
    if (plan_compute_at(cx, block, loop, {.preserve_unit_loops = true}).ok()) { out.push_back({static_cast<int64_t>(i), loops[i]->id}); }
  }
  return out;
}

/// Chooses a place to compute a block: inlined (-2), its current place (-1), or under a loop of its first consumer.
///
/// Needs  a block other than the root block.
struct SampleComputeLocation {
  struct Args { BlockArg block; };
  struct Plan { Location location; };
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    std::vector<Location> locations = list_locations(cx, args.block);
    if (cx.decision.is_none()) {
      size_t drawn = locations.size() == 1 ? 0 : static_cast<size_t>(cx.random.integer(0, static_cast<int64_t>(locations.size())));
      return Plan{locations[drawn]};
    }
    const int64_t* wanted = cx.decision.integer();
    if (!wanted) { return cx.error(Code::WrongDecision).arg("expected", "an integer").arg("found", kind_in_words(cx.decision)); }
    // The place that the decision names; or else the last place before it.
    const Location* best = nullptr;
    for (const Location& location : locations) {
      if (location.index <= *wanted) { best = &location; }
    }
    return Plan{best ? *best : Location{-1, LocationArg::root_mark}};
  }
  static auto apply(const Context&, const Args&, const Plan& plan) -> Outcome {
    Outcome out;
    out.outputs.push_back(Output::loop(plan.location.id));
    out.decision = Value(plan.location.index);
    return out;
  }
};

}  // namespace

const Primitive sample_compute_location = primitive<SampleComputeLocation>("sample_compute_location", "SampleComputeLocation", "decides where a block could be computed",
    no_effects)
    .input("block", &SampleComputeLocation::Args::block)
    .loop("location").sampling()
    .example(examples::two_stages, "l = sch.sample_compute_location(\"B\", decision=0)");
const Primitive compute_at = primitive<ComputeAt>("compute_at", "ComputeAt", "runs a block under a loop of its consumers", {Order::Kept, Hidden::Harmless})
    .moves_work()
    .input("block", &PlacementArgs::block)
    .input("loop", &PlacementArgs::loop).from(candidates::loops_of_consumers)
    .attr("preserve_unit_loops", &PlacementArgs::preserve_unit_loops, false)
    .attr("index", &PlacementArgs::index, -1)
    .example(examples::two_stages, "i0, i1 = sch.get_loops(\"C\")\nsch.compute_at(\"B\", i0)");
const Primitive reverse_compute_at = primitive<ReverseComputeAt>("reverse_compute_at", "ReverseComputeAt", "runs a block under a loop of its producers",
    {Order::Kept, Hidden::Harmless})
    .moves_work()
    .input("block", &PlacementArgs::block)
    .input("loop", &PlacementArgs::loop).from(candidates::loops_of_producers)
    .attr("preserve_unit_loops", &PlacementArgs::preserve_unit_loops, false)
    .attr("index", &PlacementArgs::index, -1)
    .example(examples::matmul_relu, "i, j, k = sch.get_loops(\"C\")\nsch.reverse_compute_at(\"D\", i)");

}  // namespace primitives
}  // namespace loopsmith::schedule
