// CrossThreadReduction: the threads of a block reduce together, each a part of the reduction loop. Where possible the block moves into the loops of its first
// consumer, with its result in shared memory. A second schedule is without the rule.
#include <algorithm>
#include <optional>

#include "tune/metaschedule/loop_roles.h"
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/reduction_loops.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {
namespace {

/// The place of a block that is computed inside its consumers.
struct Target {
  LoopRV loop;              // the block is computed in it
  BlockRV consumer;         // the first one
  LoopRV innermost;         // of the loops around the consumer
};

/// The lowest loop or block around all of some places.
auto common_ancestor(const FuncState& func, const std::vector<const Place*>& places) -> const Place* {
  const Place* out = places.front();
  for (; out; out = func.parent(*out)) {
    bool is_around_all = std::all_of(places.begin(), places.end(), [&](const Place* p) { return p == out || func.is_below(*p, *out); });
    if (is_around_all) { return out; }
  }
  return nullptr;
}

auto find_target(Schedule& sch, BlockRV block) -> Result<std::optional<Target>> {
  LOOPSMITH_TRY(place, sch.get(block));
  if (place->block()->writes.size() != 1) { return std::optional<Target>(); }
  LOOPSMITH_TRY(consumers, blocks_from(sch, "get_consumers", block));
  if (consumers.empty()) { return std::optional<Target>(); }
  std::vector<const Place*> places;
  const FuncState* func = nullptr;
  for (BlockRV consumer : consumers) {
    LOOPSMITH_TRY(found, find_block(sch, consumer));
    func = found.func;
    places.push_back(found.place);
  }
  if (needs_multi_level_tiling(*func, *places.front())) { return std::optional<Target>(); }
  const Place* common = common_ancestor(*func, places);
  if (consumers.size() > 1 && (!common || common->is_block())) { return std::optional<Target>(); }
  const NodeId common_id = common ? common->id : 0;
  LOOPSMITH_TRY(target_loops, get_loops(sch, consumers.front()));
  LOOPSMITH_TRY(own_loops, get_loops(sch, block));
  // The block goes as deep as its spatial loops reach, and not below the loop around all consumers.
  int position = static_cast<int>(std::min(own_loops.size(), target_loops.size())) - 1;
  for (int i = 0; i <= position; ++i) {
    LOOPSMITH_TRY(own, sch.get(own_loops[static_cast<size_t>(i)]));
    LOOPSMITH_TRY(other, sch.get(target_loops[static_cast<size_t>(i)]));
    if (metaschedule::role_of(*own->loop) != metaschedule::LoopRole::Spatial) { position = i - 1; }
    else if (other->id == common_id) { position = i; }
  }
  if (position < 0) { return std::optional<Target>(); }
  return std::optional(Target{target_loops[static_cast<size_t>(position)], consumers.front(), target_loops.back()});
}

auto is_in_threads(Schedule& sch, BlockRV block) -> Result<bool> {
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  for (LoopRV loop : loops) {
    LOOPSMITH_TRY(place, sch.get(loop));
    const For& node = *place->loop;
    if (node.for_kind == ForKind::ThreadBinding && node.thread && node.thread->thread_tag.view().starts_with("threadIdx")) { return true; }
  }
  return false;
}

/// The factor of the split that made the first loop bound to `threadIdx.x`. None: no split with a given factor made it.
auto thread_extent_in_trace(const schedule::Trace& trace) -> std::optional<schedule::Value> {
  const std::vector<const schedule::Instruction*> all = trace.instructions();
  for (const schedule::Instruction* bind : all) {
    if (bind->primitive->kind != "Bind" || !(bind->values[1] == schedule::Value("threadIdx.x"))) { continue; }
    for (const schedule::Instruction* split : all) {
      if (split->primitive->kind != "Split") { continue; }
      auto part = std::find(split->outputs.begin(), split->outputs.end(), bind->values[0]);
      const auto* factors = split->values[1].as<schedule::Value::List>();
      if (part == split->outputs.end() || !factors) { continue; }
      const schedule::Value& factor = (*factors)[static_cast<size_t>(part - split->outputs.begin())];
      if (!factor.is_none()) { return factor; }
    }
  }
  return std::nullopt;
}

class CrossThreadReduction : public Rule {
 public:
  CrossThreadReduction(const RuleMachine& machine, std::vector<int64_t> thread_extents)
      : max_threads_(machine.max_threads), warp_size_(machine.warp_size), thread_extents_(std::move(thread_extents)) {}

  auto name() const -> std::string_view override { return "CrossThreadReduction"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    if (max_threads_ == -1 || warp_size_ == -1) { return Schedules{std::move(sch)}; }
    LOOPSMITH_TRY(found, find_block(sch, block));
    if (!needs_rfactor_or_cross_thread_reduction(*found.func, *found.place, max_threads_, warp_size_)) { return Schedules{std::move(sch)}; }
    Schedule made = sch.fork();
    made.seed(sch.fork_seed());
    LOOPSMITH_TRY(target, find_target(made, block));
    LOOPSMITH_TRY(sampled, sample_one_of(made, thread_extents_));
    schedule::Value extent = sampled;
    if (target) { LOOPSMITH_CHECK(move_into(made, block, *target, extent)); }
    LOOPSMITH_TRY(reduction, reorder_and_fuse_reduction_loops(made, block));
    LOOPSMITH_TRY(parts, metaschedule::split(made, reduction.fused, {nullptr, extent}));
    LOOPSMITH_CHECK(perform(made, "bind", {parts[1], "threadIdx.x"}));
    return Schedules{std::move(made), std::move(sch)};
  }

 private:
  /// Computes the block inside its consumer, whose innermost loop is spread over the same threads.
  [[nodiscard]] static auto move_into(Schedule& sch, BlockRV block, Target target, schedule::Value& extent) -> Status {
    LOOPSMITH_TRY(in_threads, is_in_threads(sch, target.consumer));
    if (!in_threads) {
      LOOPSMITH_TRY(parts, metaschedule::split(sch, target.innermost, {nullptr, extent}));
      LOOPSMITH_CHECK(perform(sch, "bind", {parts[1], "threadIdx.x"}));
      if (target.innermost == target.loop) { target.loop = parts[0]; }
    } else if (auto known = thread_extent_in_trace(sch.trace())) {
      extent = *known;
    }
    LOOPSMITH_CHECK(perform(sch, "compute_at", {block, target.loop, true}));
    return perform(sch, "set_scope", {block, 0, "shared"});
  }

  int64_t max_threads_;
  int64_t warp_size_;
  std::vector<int64_t> thread_extents_;
};

}  // namespace

auto cross_thread_reduction(const RuleMachine& machine, std::vector<int64_t> thread_extents) -> RulePtr {
  return std::make_shared<CrossThreadReduction>(machine, std::move(thread_extents));
}

}  // namespace loopsmith::tune::rules
