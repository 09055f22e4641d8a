// The tables of stages, and running them: see pipelines.h.
#include "transform/pipelines.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "ir/calls.h"
#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/undefined.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "transform/blend_masked_stores.h"
#include "transform/check_bounds.h"
#include "transform/common_subexpressions.h"
#include "transform/compact_buffer_allocation.h"
#include "transform/convert_blocks_to_opaque.h"
#include "transform/device/bind_threads.h"
#include "transform/device/inject_async_copy.h"
#include "transform/device/inject_virtual_thread.h"
#include "transform/device/join_thread_loops.h"
#include "transform/device/plan_shared_memory.h"
#include "transform/device/reduce_across_threads.h"
#include "transform/device/split_host_device.h"
#include "transform/flatten_buffer.h"
#include "transform/hoist_conditions.h"
#include "transform/inject_double_buffer.h"
#include "transform/inject_prefetch.h"
#include "transform/inject_software_pipeline.h"
#include "transform/inline_calls.h"
#include "transform/instrument_loops.h"
#include "transform/launches_as_loops.h"
#include "transform/loop_partition.h"
#include "transform/lower_cross_thread_reduction.h"
#include "transform/lower_init_block.h"
#include "transform/lower_match_buffer.h"
#include "transform/lower_opaque_block.h"
#include "transform/lower_reductions.h"
#include "transform/lower_thread_binding.h"
#include "transform/narrow_types.h"
#include "transform/plain_accesses.h"
#include "transform/plain_calls.h"
#include "transform/plan_buffer_location.h"
#include "transform/plan_storage.h"
#include "transform/private_scratch.h"
#include "transform/remove_no_op.h"
#include "transform/reuse_storage.h"
#include "transform/separate_init.h"
#include "transform/simplify.h"
#include "transform/unroll_loop.h"
#include "transform/unswitch_predicates.h"
#include "transform/vectorize_loop.h"

namespace loopsmith::transform {
namespace {

constexpr std::array llvm_stages{
    Stage{"plain_calls", plain_calls, "rewrites constants by name and lists of values in plain TIR"},
    Stage{"inline_calls", inline_calls, "puts functions of the module in the place of their calls"},
    // Before allocations move or shrink: a block and a thread have copies of their memory.
    Stage{"launches_as_loops", launches_as_loops, "makes loops of launches of threads, with their memory where blocks and threads have it"},
    Stage{"lower_reductions", lower_reductions, "makes loops of reductions in expressions"},
    Stage{"separate_init", separate_init, "moves inits of reductions in front of their loops, where nothing else is there"},
    Stage{"lower_init_block", lower_init_block, "makes conditions of the other inits, in their blocks"},
    // Uses the kinds of iter vars, which the next stage removes.
    Stage{"plan_buffer_location", plan_buffer_location, "moves allocations inwards, to the loops around all accesses"},
    Stage{"convert_blocks_to_opaque", convert_blocks_to_opaque, "replaces the iter vars of blocks by their bindings"},
    // Iter vars are replaced by loops, which makes ranges precise; views still have their regions.
    Stage{"compact_buffer_allocation", compact_buffer_allocation, "shrinks allocations to the accessed regions"},
    Stage{"lower_match_buffer", lower_match_buffer, "replaces views by the buffers that they are views of"},
    // Buffers have the size of an iteration, and still belong to blocks.
    Stage{"inject_software_pipeline", inject_software_pipeline, "lets the statements of a loop work on different iterations at the same time"},
    Stage{"lower_opaque_block", lower_opaque_block, "replaces blocks by their statements"},
    // Memory of plain statements, which plan_buffer_location leaves outside of loops.
    Stage{"private_scratch", private_scratch, "moves scratch memory into the loops whose iterations run at the same time"},
    Stage{"plain_accesses", plain_accesses, "replaces accesses of textures and masked accesses by those of buffers"},
    // Accesses still have an index for every dimension.
    Stage{"check_bounds", check_bounds, "adds a test before every access, on request"},
    // Before indices become one sum, which hides the ranges of dimensions.
    Stage{"simplify", simplify, "simplifies index arithmetic, and removes conditions that always hold"},
    // Regions still have their dimensions, and no test of bounds stands before a prefetch.
    Stage{"inject_prefetch", inject_prefetch, "adds calls that fetch the data of later iterations, on request"},
    Stage{"flatten_buffer", flatten_buffer, "gives every access a single index"},
    Stage{"inject_double_buffer", inject_double_buffer, "loads the data of an iteration one iteration earlier, on request"},
    Stage{"lower_cross_thread_reduction", lower_cross_thread_reduction, "lets threads exchange the values of a reduction through memory and barriers"},
    // Accesses have a single index, so thread-local values become arrays with an element per thread.
    Stage{"lower_thread_binding", lower_thread_binding, "makes loops of the threads of a block, split at barriers"},
    Stage{"simplify_indices", simplify, "simplifies flat indices"},
    Stage{"narrow_types", narrow_types, "makes loops and indices of 64 bits int32, if they fit"},
    // Before conditions become masks, which would keep tiles out of registers.
    Stage{"loop_partition", loop_partition, "splits loops at the iterations where a condition begins or ceases to hold"},
    Stage{"hoist_conditions", hoist_conditions, "moves conditions in front of loops that do not change them"},
    Stage{"unswitch_predicates", unswitch_predicates, "makes one test for a whole tile of the tests of its elements"},
    Stage{"vectorize_loop", vectorize_loop, "makes vector code of vectorized loops"},
    // After vectorising, so that vector statements are repeated, not scalar ones.
    Stage{"unroll_loop", unroll_loop, "writes unrolled loops out"},
    Stage{"simplify_again", simplify, "simplifies unrolled statements"},
    Stage{"remove_no_op", remove_no_op, "removes statements without effect"},
    // Every buffer still has its own memory.
    Stage{"blend_masked_stores", blend_masked_stores, "replaces masked stores by a choice between old and new elements, in memory of a single thread"},
    // Lifetimes of buffers are still those of the program; the next stage moves allocations outwards.
    Stage{"reuse_storage", reuse_storage, "gives one memory to buffers that are not alive at the same time"},
    // No later stage changes sizes.
    Stage{"plan_storage", plan_storage, "chooses the stack or a workspace for every allocation"},
    Stage{"common_subexpressions", common_subexpressions, "names values that occur several times, on request"},
    // Last: no later stage adds loops.
    Stage{"instrument_loops", instrument_loops, "adds calls of the profiler around loops, on request"},
};

auto names(std::span<const Stage> stages) -> std::string {
  std::string out;
  for (const Stage& stage : stages) { out += (out.empty() ? "" : ", ") + std::string(stage.name); }
  return out;
}

}  // namespace

auto pipeline(std::string_view target_kind) -> std::span<const Stage> {
  static const auto gpu_stages = [](bool has_warps) {
    std::vector<Stage> out;
    for (const Stage& stage : llvm_stages) {
      std::string_view name = stage.name;
      // A GPU has real threads. No later stage may move a barrier into a branch that depends on a thread, or let memory of the block
      // be reused before all threads have finished with it.
      if (name == "loop_partition" || name == "hoist_conditions" || name == "unswitch_predicates" || name == "reuse_storage") { continue; }
      if (name == "lower_cross_thread_reduction" && has_warps) {
        out.push_back({stage.name, lower_cross_thread_reduction_with_warps, "lets threads exchange the values of a reduction through memory and barriers"});
        continue;
      }
      if (name == "plan_buffer_location") { out.push_back({"join_thread_loops", join_thread_loops, "joins accesses to operands of matrix units in one loop over the warps"}); }
      if (name == "lower_thread_binding") {
        if (has_warps) { out.push_back({"reduce_in_warps", reduce_in_warps, "reduces over the threads of warps by exchanges of registers"}); }
        out.push_back({"reduce_across_threads", reduce_across_threads, "reduces over other threads in parts, which a tree combines"});
        // Barriers are inserted behind it, so that they stand once for all virtual threads.
        out.push_back({"inject_virtual_thread", inject_virtual_thread, "repeats statements for each virtual thread, with registers of its own"});
        // Barriers then know that buffers share memory.
        out.push_back({"plan_shared_memory", plan_shared_memory, "gives one memory to shared buffers that are not alive at the same time"});
        out.push_back({"bind_threads", has_warps ? bind_threads_with_warps : bind_threads, "makes one index for each dimension of threads, and adds barriers"});
        // Vectorized loops are still loops, which move several elements at once.
        if (has_warps) { out.push_back({"inject_async_copy", inject_async_copy, "makes copies to shared memory asynchronous: a thread starts them and waits later"}); }
        continue;
      }
      out.push_back(stage);
    }
    return out;
  };
  static const auto source_stages = [](bool has_warps) {
    std::vector<Stage> out = gpu_stages(has_warps);
    out.push_back({"split_host_device", split_host_device, "makes functions of kernels, which the host function launches"});
    return out;
  };
  static const std::vector<Stage> rocm_stages = gpu_stages(false);
  static const std::vector<Stage> cuda_stages = source_stages(true);
  // OpenCL 1.2 has no exchange between the threads of a warp.
  static const std::vector<Stage> opencl_stages = source_stages(false);
  if (target_kind == target_kind::rocm) { return rocm_stages; }
  if (target_kind == target_kind::cuda || target_kind == target_kind::nvptx) { return cuda_stages; }
  if (is_gpu_target(target_kind)) { return opencl_stages; }
  return llvm_stages;
}

namespace {

// Finds blocks without a realize (`no_realize=True`): these are parts of programs, and cannot run. A block without iter vars can run: it
// has a single instance.
class FindLoose : public Visitor {
 public:
  using Visitor::on;
  const Block* found = nullptr;
  bool any = false;
  void on(const BlockRealize& n) override { inside(*n.block); }
  void on(const Block& n) override {
    any = true;
    if (!n.iter_vars.empty()) { found = &n; }
    inside(n);
  }

 private:
  void inside(const Block& n) {
    if (n.init) { visit(n.init); }
    visit(n.body);
  }
};

class RealizeLoose : public Mutator {
 public:
  using Mutator::on;
  auto on(const BlockRealize& n) -> Stmt override {
    Stmt block = Mutator::on(*n.block);
    return block.as<Block>() == n.block.get() ? self(n) : make<BlockRealize>(n.iter_values, n.predicate, block.ref<Block>(), n.origin);
  }
  auto on(const Block& n) -> Stmt override { return make<BlockRealize>(Array<Expr>(), bool_imm(true), Mutator::on(n).ref<Block>(), n.origin); }
};

}  // namespace

auto lower(const IRModule& module, const LowerContext& context, const LowerRequest& request) -> Result<IRModule> {
  bool any_loose = false;
  for (const auto& [name, func] : module->functions) {
    FindLoose loose;
    loose.visit(func->body);
    any_loose = any_loose || loose.any;
    if (!loose.found) { continue; }
    return error(Code::CannotEmit, loose.found->origin).arg("what", "block `" + loose.found->name.str() + "`").arg("function", called(name, func)).arg("target", "any target")
        .arg("reason", because(Why::PartOfProgram).text());
  }
  for (const auto& [name, func] : module->functions) {
    // Vectorized loops with jumps are lowered to serial loops.
    for (const auto& [loop, jump] : unordered_jumps(func->body)) {
      if (loop->for_kind == ForKind::Vectorized) { continue; }
      return error(Code::JumpFromParallel, jump->origin).arg("jump", jump_word(*jump)).arg("loop", loop->var->name.view())
          .arg("kind", loop->for_kind == ForKind::Parallel ? "parallel" : "thread-bound");
    }
  }
  std::span<const Stage> stages = pipeline(request.target_kind);
  size_t count = stages.size();
  if (!request.until.empty()) {
    count = 0;
    for (size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].name == request.until) { count = i + 1; }
    }
    if (count == 0) { return error(Code::UnknownStage).arg("stage", request.until).remedy("choose one of " + names(stages)); }
  }
  // Compilers of devices unroll loops themselves; long unrolled loops take them minutes.
  LowerContext local = context;
  if (is_gpu_target(request.target_kind)) { local.options.unroll_limit = std::min<int64_t>(local.options.unroll_limit, 1024); }
  local.options.async_copies = local.options.async_copies && (request.target_kind == target_kind::cuda || request.target_kind == target_kind::nvptx);
  IRModule current = module;
  if (any_loose) {
    LOOPSMITH_TRY(realized, map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, RealizeLoose().mutate(func->body)); }));
    current = std::move(realized);
  }
  for (const Stage& stage : stages.first(count)) {
    if (context.cancel.is_cancelled()) { return error(Code::Cancelled); }
    auto start = std::chrono::steady_clock::now();
    LOOPSMITH_TRY(after, stage.pass(current, local));
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (request.on_stage) { request.on_stage({&stage, current, after, spent.count()}); }
#ifdef LOOPSMITH_CHECKED
    for (const auto& [name, func] : after->functions) {
      PrimFunc before = current->find(name);
      auto lost = before ? lost_definition(before, func) : std::nullopt;
      if (lost) { return error(Code::Internal, func->origin).arg("what", "after " + std::string(stage.name) + ": nothing defines `" + *lost + "`"); }
    }
#endif
    current = std::move(after);
  }
  return current;
}

auto is_lowered(const PrimFunc& func) -> bool {
  bool found = false;
  post_order(
      func->body,
      [&](const Stmt& s) {
        const auto* loop = s.as<For>();
        const auto* store = s.as<BufferStore>();
        found = found || s.as<Block>() || s.as<BlockRealize>() || s.as<BufferRealize>() ||
                (loop && (loop->for_kind == ForKind::Vectorized || loop->for_kind == ForKind::ThreadBinding)) ||
                (store && store->indices.size() != 1);
      },
      [&](const Expr& e) {
        const auto* load = e.as<BufferLoad>();
        const auto* call = e.as<Call>();
        found = found || e.as<Reduce>() || (call && packed_name(*call)) || (load && load->indices.size() != 1);
      });
  return !found;
}

}  // namespace loopsmith::transform
