// RewriteUnboundBlock: binds the outer spatial loops of blocks that no thread runs yet to `blockIdx.x` and `threadIdx.x`.
#include <algorithm>
#include <limits>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/loop_roles.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune::metaschedule {
namespace {

// The outermost blocks that are not below loops of both kinds.
class FindUnbound : public Visitor {
 public:
  using Visitor::on;
  std::vector<NodeId> found;

  void on(const For& n) override {
    int& count = is_bound_to_blocks(n) ? blocks_ : is_bound_to_threads(n) ? threads_ : others_;
    ++count;
    if (blocks_ == 0 || threads_ == 0) { Visitor::on(n); }
    --count;
  }
  void on(const Block& n) override { found.push_back(n.id); }

 private:
  int blocks_ = 0, threads_ = 0, others_ = 0;
};

// Numbers of loops around a block, counted from the outermost; -1: there is no such loop.
struct LoopsAround {
  int block_index = -1, thread_index = -1;   // the outermost bound ones
  int end_of_fusible = -1;                   // the first loop that must not be fused with those outside
  int last_spatial = -1;                     // of the spatial loops that begin with the outermost loop
};

auto look_at(const std::vector<const For*>& loops) -> LoopsAround {
  LoopsAround out;
  int count = static_cast<int>(loops.size());
  for (int i = 0; i < count; ++i) {
    const For& loop = *loops[static_cast<size_t>(i)];
    if (is_bound_to_blocks(loop) && out.block_index == -1) { out.block_index = i; }
    if (is_bound_to_threads(loop) && out.thread_index == -1) { out.thread_index = i; }
    if (loop.for_kind != ForKind::Serial && out.end_of_fusible == -1) { out.end_of_fusible = i; }
    if (!is_single_statement(loop.body) && out.end_of_fusible == -1) { out.end_of_fusible = i + 1; }
    if (role_of(loop) == LoopRole::Spatial && out.last_spatial == i - 1) { ++out.last_spatial; }
  }
  if (out.end_of_fusible == -1) { out.end_of_fusible = count; }
  return out;
}

auto bind_spatial_loop(Schedule& sch, LoopRV loop, int64_t most_blocks, int64_t most_threads) -> Status {
  LOOPSMITH_TRY(node, loop_of(sch, loop));
  int64_t extent = as_int(node->extent).value_or(std::numeric_limits<int64_t>::max());
  if (extent <= most_blocks * most_threads) {
    LOOPSMITH_TRY(parts, split(sch, loop, {Value(), Value(std::min(extent, most_threads))}));
    LOOPSMITH_CHECK(bind(sch, parts[0], "blockIdx.x"));
    return bind(sch, parts[1], "threadIdx.x");
  }
  LOOPSMITH_TRY(parts, split(sch, loop, {Value(), Value(most_blocks), Value(most_threads)}));
  LOOPSMITH_CHECK(reorder(sch, {parts[1], parts[2], parts[0]}));
  LOOPSMITH_CHECK(bind(sch, parts[1], "blockIdx.x"));
  return bind(sch, parts[2], "threadIdx.x");
}

auto add_unit_loop(Schedule& sch, Value around) -> Result<LoopRV> {
  LOOPSMITH_TRY(value, sch.call("add_unit_loop", {std::move(around)}));
  return *value.as<LoopRV>();
}

auto bind_block(Schedule& sch, Name func, BlockRV block, int64_t most_blocks, int64_t most_threads) -> Status {
  LOOPSMITH_TRY(place, sch.get(block));
  if (place->parent < 0 || find_attr(place->block()->annotations, "meta_schedule.tiling_structure")) { return ok(); }
  auto found = find_place(sch, func, place->id);
  std::vector<const For*> nodes;
  for (const schedule::Place* loop : found.func->loops(*place)) { nodes.push_back(loop->loop); }
  LoopsAround around = look_at(nodes);
  if (around.block_index != -1 && around.thread_index != -1) { return ok(); }
  if (around.block_index != -1) {
    return error(Code::CannotTune).arg("function", sch.func_working_on().view())
        .arg("reason", because(Why::BoundToBlocksOnly).arg("block", place->name().view()).text()).at_node(place->id);
  }
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  if (around.last_spatial == -1) {
    LOOPSMITH_TRY(unit, add_unit_loop(sch, loops.empty() ? Value(block) : Value(loops[0])));
    loops.insert(loops.begin(), unit);
    around.last_spatial = 0;
    ++around.end_of_fusible;
    if (around.thread_index != -1) { ++around.thread_index; }
  }
  int count = std::min(around.end_of_fusible, around.last_spatial + 1);
  if (around.thread_index != -1) {
    // Threads are there: the loops outside of them count the blocks.
    LOOPSMITH_TRY(again, get_loops(sch, block));
    count = std::min(count, around.thread_index);
    LOOPSMITH_TRY(fused, fuse(sch, std::vector<LoopRV>(again.begin(), again.begin() + count)));
    return bind(sch, fused, "blockIdx.x");
  }
  LOOPSMITH_TRY(fused, fuse(sch, std::vector<LoopRV>(loops.begin(), loops.begin() + count)));
  return bind_spatial_loop(sch, fused, most_blocks, most_threads);
}

}  // namespace

auto rewrite_unbound_block(int64_t max_threadblocks) -> Postproc {
  return {"RewriteUnboundBlock", [max_threadblocks](Schedule& sch, const TargetNumbers& numbers) -> Verdict {
            if (numbers.threads_per_block < 0) {
              return missing_number(sch, "RewriteUnboundBlock", "max_threads_per_block");
            }
            std::vector<std::pair<Name, NodeId>> unbound;
            for (const auto& [name, func] : sch.module()->functions) {
              const Block* root = root_block(func);
              if (!root) { continue; }
              FindUnbound find;
              find.visit(root->body);
              for (NodeId id : find.found) { unbound.emplace_back(name, id); }
            }
            for (const auto& [name, id] : unbound) {
              auto found = find_place(sch, name, id);
              if (!found) { continue; }
              LOOPSMITH_TRY(block, get_block(sch, found.place->name(), name));
              LOOPSMITH_CHECK(bind_block(sch, name, block, max_threadblocks, numbers.threads_per_block));
            }
            return true;
          }};
}

}  // namespace loopsmith::tune::metaschedule
