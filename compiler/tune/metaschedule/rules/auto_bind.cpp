// AutoBind: the spatial loops around a block are bound to blocks and threads of a grid, unless they are bound already.
#include <algorithm>
#include <limits>

#include "support/codes.h"
#include "support/reasons.h"
#include "tune/metaschedule/loop_roles.h"
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/calls.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {
namespace {

/// Numbers among the loops around a block; -1: none.
struct LoopNumbers {
  int grid = -1;             // the first one bound to blocks of the grid
  int threads = -1;          // the first one bound to threads
  int end_of_nest = -1;      // the first one that is not serial, or one past the first with several statements; the number of loops where all are plain
  int last_spatial = -1;     // the last of the spatial loops in front
};

auto thread_of(const For& loop) -> std::string_view { return loop.for_kind == ForKind::ThreadBinding && loop.thread ? loop.thread->thread_tag.view() : ""; }

auto number_loops(const std::vector<const Place*>& loops) -> LoopNumbers {
  LoopNumbers out;
  for (int i = 0; i < static_cast<int>(loops.size()); ++i) {
    const For& loop = *loops[static_cast<size_t>(i)]->loop;
    if (thread_of(loop).starts_with("blockIdx") && out.grid == -1) { out.grid = i; }
    if (thread_of(loop).starts_with("threadIdx") && out.threads == -1) { out.threads = i; }
    if (loop.for_kind != ForKind::Serial && out.end_of_nest == -1) { out.end_of_nest = i; }
    if (loop.body.as<SeqStmt>() && out.end_of_nest == -1) { out.end_of_nest = i + 1; }
    if (metaschedule::role_of(*loops[static_cast<size_t>(i)]->loop) == metaschedule::LoopRole::Spatial && out.last_spatial == i - 1) { ++out.last_spatial; }
  }
  if (out.end_of_nest == -1) { out.end_of_nest = static_cast<int>(loops.size()); }
  return out;
}

class AutoBind : public Rule {
 public:
  AutoBind(int64_t max_threads, int64_t max_threadblocks, std::vector<int64_t> thread_extents)
      : max_threads_(max_threads), max_threadblocks_(max_threadblocks), thread_extents_(std::move(thread_extents)) {}

  auto name() const -> std::string_view override { return "AutoBind"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    if (max_threads_ < 1) {
      return error(Code::CannotTune).arg("function", name()).arg("reason", because(Why::NoThreadLimit).text()).remedy("add `max_threads_per_block=N` to the call of AutoBind");
    }
    LOOPSMITH_CHECK(bind(sch, block));
    return Schedules{std::move(sch)};
  }

 private:
  [[nodiscard]] auto bind(Schedule& sch, BlockRV block) const -> Status {
    LOOPSMITH_TRY(found, find_block(sch, block));
    if (found.place->parent < 0 || is_tiled(*found.place->block())) { return ok(); }
    LoopNumbers at = number_loops(found.func->loops(*found.place));
    if (at.grid != -1) { return ok(); }
    LOOPSMITH_TRY(loops, get_loops(sch, block));
    if (at.last_spatial == -1) {
      LOOPSMITH_TRY(unit, sch.call("add_unit_loop", {loops.empty() ? schedule::Value(block) : schedule::Value(loops.front())}));
      loops.insert(loops.begin(), *unit.as<LoopRV>());
      at.last_spatial = 0;
      if (at.threads != -1) { ++at.threads; }
      ++at.end_of_nest;
    }
    if (at.threads != -1) {
      LOOPSMITH_TRY(all, get_loops(sch, block));
      const int count = std::min({at.end_of_nest, at.threads, at.last_spatial + 1});
      LOOPSMITH_TRY(fused, fuse(sch, {all.begin(), all.begin() + count}));
      return perform(sch, "bind", {fused, "blockIdx.x"});
    }
    const int count = std::min(at.end_of_nest, at.last_spatial + 1);
    LOOPSMITH_TRY(fused, fuse(sch, {loops.begin(), loops.begin() + count}));
    return bind_spatial_loop(sch, fused);
  }

  [[nodiscard]] auto bind_spatial_loop(Schedule& sch, LoopRV loop) const -> Status {
    LOOPSMITH_TRY(constant, extent_of(sch, loop));
    const int64_t extent = constant == -1 ? std::numeric_limits<int64_t>::max() : constant;
    if (extent <= max_threadblocks_ * max_threads_) {
      LOOPSMITH_TRY(factor, thread_factor(sch, std::min(extent, max_threads_)));
      LOOPSMITH_TRY(parts, metaschedule::split(sch, loop, {nullptr, factor}));
      LOOPSMITH_CHECK(perform(sch, "bind", {parts[0], "blockIdx.x"}));
      return perform(sch, "bind", {parts[1], "threadIdx.x"});
    }
    LOOPSMITH_TRY(parts, metaschedule::split(sch, loop, {nullptr, max_threadblocks_, max_threads_}));
    LOOPSMITH_CHECK(reorder(sch, {parts[1], parts[2], parts[0]}));
    LOOPSMITH_CHECK(perform(sch, "bind", {parts[1], "blockIdx.x"}));
    return perform(sch, "bind", {parts[2], "threadIdx.x"});
  }

  /// The number of threads: sampled where several candidates are small enough.
  [[nodiscard]] auto thread_factor(Schedule& sch, int64_t most) const -> Result<schedule::Value> {
    std::vector<int64_t> candidates;
    for (int64_t extent : thread_extents_) { if (extent <= most) { candidates.push_back(extent); } }
    if (candidates.empty()) { return schedule::Value(most); }
    if (candidates.size() == 1) { return schedule::Value(candidates.front()); }
    LOOPSMITH_TRY(factor, sample_one_of(sch, candidates));
    return schedule::Value(factor);
  }

  int64_t max_threads_;
  int64_t max_threadblocks_;
  std::vector<int64_t> thread_extents_;
};

}  // namespace

auto auto_bind(const RuleMachine& machine, int64_t max_threadblocks, std::vector<int64_t> thread_extents, int64_t max_threads_per_block) -> RulePtr {
  const int64_t most = machine.max_threads < 1 ? max_threads_per_block : max_threads_per_block < 1 ? machine.max_threads : std::min(machine.max_threads, max_threads_per_block);
  return std::make_shared<AutoBind>(most, max_threadblocks, std::move(thread_extents));
}

}  // namespace loopsmith::tune::rules
