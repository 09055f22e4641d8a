// RewriteParallelVectorizeUnroll: the annotations `meta_schedule.parallel`, `vectorize`, `unroll_explicit` and `unroll_implicit` of a root block as
// primitives on the loops of every block right below it. The outermost spatial loops are fused and made parallel, up to the annotated product of extents; the
// innermost ones are fused and vectorized, as far as all accesses are contiguous. Where all loops can be both, they are fused to one, which is split in a
// parallel loop and a vector. The outermost loop of a reduction gets the pragmas of unrolling.
#include <algorithm>
#include <limits>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/loop_roles.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune::metaschedule {
namespace {

constexpr std::string_view parallel_key = "meta_schedule.parallel";
constexpr std::string_view vectorize_key = "meta_schedule.vectorize";
constexpr std::string_view unroll_explicit_key = "meta_schedule.unroll_explicit";
constexpr std::string_view unroll_implicit_key = "meta_schedule.unroll_implicit";

// The numbers of the annotations; -1: not annotated.
struct Wishes {
  int64_t parallel = -1;          // the most iterations of the parallel loop
  int64_t vectorize = -1;         // the most lanes
  int64_t unroll_explicit = -1;   // the most steps
  int64_t unroll_implicit = -1;
};

// The number of loops to fuse for each purpose; -1: none.
struct Plan {
  int64_t parallel_loops = -1;
  int64_t vector_loops = -1;
  bool takes_all = false;   // all loops for both purposes
};

// The strides of a variable in the sums and products of an index; none where the variable is not in it.
auto stride_of(const Expr& expr, const VarNode* var) -> std::optional<int64_t> {
  if (const auto* v = expr.as<VarNode>()) { return v == var ? std::optional<int64_t>(1) : std::nullopt; }
  if (const auto* m = expr.as<Mul>()) {
    if (const auto* a = m->a.as<IntImm>()) {
      auto inner = stride_of(m->b, var);
      return inner ? std::optional(*inner * a->value) : std::nullopt;
    }
    if (const auto* b = m->b.as<IntImm>()) {
      auto inner = stride_of(m->a, var);
      return inner ? std::optional(*inner * b->value) : std::nullopt;
    }
    return std::nullopt;
  }
  if (const auto* s = expr.as<Add>()) {
    auto a = stride_of(s->a, var), b = stride_of(s->b, var);
    return a && b ? std::optional(std::min(*a, *b)) : a ? a : b;
  }
  return std::nullopt;
}

// The stride of each loop in the elements of an access; 0: the access does not use the loop. None: a dimension is not constant.
auto strides_of(const BufferRegion& access, const std::vector<const For*>& loops, const VarMap& bindings) -> std::optional<std::vector<int64_t>> {
  arith::Analyzer analyzer;
  std::vector<Expr> indices;
  for (const Range& r : access.region) { indices.push_back(analyzer.simplify(substitute(r.min, bindings))); }
  std::vector<int64_t> out;
  for (const For* loop : loops) {
    int64_t stride = 0, row = 1;
    for (size_t i = indices.size(); i-- > 0;) {
      int64_t coefficient = stride_of(indices[i], loop->var.get()).value_or(0);
      if (coefficient != 0) {
        stride = coefficient * row;
        break;
      }
      std::optional<int64_t> extent = as_int(access.buffer->shape[i]);
      if (!extent) { return std::nullopt; }
      row *= *extent;
    }
    out.push_back(stride);
  }
  return out;
}

// The number of innermost loops that an access runs through contiguously when they are fused.
auto contiguous_loops(const std::vector<int64_t>& strides, const std::vector<const For*>& loops) -> int64_t {
  int64_t count = 0;
  std::optional<size_t> inner;   // the nearest loop inside that the access uses
  for (size_t i = strides.size(); i-- > 0;) {
    if (strides[i] != 0) {
      if (!inner && strides[i] != 1 && count != 0) { break; }
      if (inner && strides[i] != strides[*inner] * as_int(loops[*inner]->extent).value_or(0)) { break; }
      inner = i;
    }
    ++count;
  }
  return count;
}

auto most_vector_loops(const BlockRealize& realize, const std::vector<const For*>& loops) -> int64_t {
  VarMap bindings;
  for (size_t i = 0; i < realize.iter_values.size(); ++i) { bindings[realize.block->iter_vars[i].var.get()] = realize.iter_values[i]; }
  int64_t most = std::numeric_limits<int64_t>::max();
  for (const auto* accesses : {&realize.block->reads, &realize.block->writes}) {
    for (const BufferRegion& access : *accesses) {
      auto strides = strides_of(access, loops, bindings);
      most = std::min(most, strides ? contiguous_loops(*strides, loops) : 0);
    }
  }
  return most;
}

auto is_taken(const For& loop) -> bool { return loop.for_kind == ForKind::ThreadBinding || !loop.annotations.empty(); }

auto plan_parallel(const std::vector<const For*>& loops, int64_t most) -> int64_t {
  int64_t count = 0, product = 1;
  for (const For* loop : loops) {
    std::optional<int64_t> extent = as_int(loop->extent);
    if (role_of(*loop) != LoopRole::Spatial || is_taken(*loop) || !extent) { break; }
    ++count;
    product *= *extent;
    if (product > most || !is_single_statement(loop->body)) { break; }
  }
  return product == 1 ? -1 : count;
}

auto plan_vectorize(const std::vector<const For*>& loops, int64_t most_lanes, int64_t most_loops) -> int64_t {
  int64_t count = 0, product = 1;
  for (size_t i = loops.size(); i-- > 0 && count < most_loops;) {
    const For& loop = *loops[i];
    std::optional<int64_t> extent = as_int(loop.extent);
    if (role_of(loop) != LoopRole::Spatial || is_taken(loop) || !is_single_statement(loop.body) || !extent) { break; }
    product *= *extent;
    if (product > most_lanes) { break; }
    ++count;
  }
  return product == 1 ? -1 : count;
}

// Spatial loops of constant extent that are not bound or annotated, with one statement inside.
auto count_free_loops(const std::vector<const For*>& loops) -> size_t {
  return static_cast<size_t>(std::count_if(loops.begin(), loops.end(), [](const For* loop) {
    return !is_taken(*loop) && role_of(*loop) == LoopRole::Spatial && is_single_statement(loop->body) && as_int(loop->extent);
  }));
}

auto make_plan(const Schedule& sch, BlockRV block, const std::vector<LoopRV>& loop_rvs, const Wishes& wishes) -> Result<Plan> {
  Plan plan;
  if (wishes.parallel == -1 && wishes.vectorize == -1) { return plan; }
  std::vector<const For*> loops;
  for (LoopRV rv : loop_rvs) {
    LOOPSMITH_TRY(loop, loop_of(sch, rv));
    loops.push_back(loop);
  }
  LOOPSMITH_TRY(place, sch.get(block));
  int64_t most_loops = most_vector_loops(*place->realize, loops);
  if (wishes.parallel != -1) { plan.parallel_loops = plan_parallel(loops, wishes.parallel); }
  if (wishes.vectorize != -1) { plan.vector_loops = plan_vectorize(loops, wishes.vectorize, most_loops); }
  if (plan.parallel_loops == -1 || plan.vector_loops == -1) { return plan; }
  auto count = static_cast<int64_t>(loops.size());
  plan.takes_all = count_free_loops(loops) == loops.size() && most_loops == count;
  // A loop that could serve both purposes becomes a vector.
  plan.parallel_loops = std::min(plan.parallel_loops, count - plan.vector_loops);
  return plan;
}

// The loops around the block afterwards replace the fused ones in the list.
auto fuse_parallel(Schedule& sch, size_t count, std::vector<LoopRV>& loops) -> Status {
  auto end = loops.begin() + static_cast<ptrdiff_t>(count);
  LOOPSMITH_TRY(fused, fuse(sch, std::vector<LoopRV>(loops.begin(), end)));
  std::fill(loops.begin(), end, fused);
  return parallel(sch, fused);
}

auto fuse_vector(Schedule& sch, size_t count, std::vector<LoopRV>& loops) -> Status {
  auto begin = loops.end() - static_cast<ptrdiff_t>(count);
  LOOPSMITH_TRY(fused, fuse(sch, std::vector<LoopRV>(begin, loops.end())));
  std::fill(begin, loops.end(), fused);
  return vectorize(sch, fused);
}

auto fuse_all(Schedule& sch, int64_t lanes, std::vector<LoopRV>& loops) -> Status {
  LOOPSMITH_TRY(fused, fuse(sch, loops));
  LOOPSMITH_TRY(parts, split(sch, fused, {Value(), Value(lanes)}));
  std::fill(loops.begin(), loops.end(), parts[0]);
  loops.back() = parts[1];
  LOOPSMITH_CHECK(parallel(sch, parts[0]));
  return vectorize(sch, parts[1]);
}

auto is_spatial(const Block& block) -> bool {
  return std::all_of(block.iter_vars.begin(), block.iter_vars.end(), [](const IterVar& iter) { return iter.kind == IterKind::Spatial; });
}

auto apply_to_block(Schedule& sch, BlockRV block, const Wishes& wishes) -> Status {
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  if (loops.empty()) { return ok(); }
  LOOPSMITH_TRY(plan, make_plan(sch, block, loops, wishes));
  if (plan.takes_all) {
    LOOPSMITH_CHECK(fuse_all(sch, wishes.vectorize, loops));
  } else {
    if (plan.parallel_loops > 0) { LOOPSMITH_CHECK(fuse_parallel(sch, static_cast<size_t>(plan.parallel_loops), loops)); }
    if (plan.vector_loops > 0) { LOOPSMITH_CHECK(fuse_vector(sch, static_cast<size_t>(plan.vector_loops), loops)); }
  }
  if (wishes.unroll_explicit == -1 && wishes.unroll_implicit == -1) { return ok(); }
  int64_t steps = wishes.unroll_explicit + wishes.unroll_implicit + 1;
  LOOPSMITH_TRY(node, block_of(sch, block));
  if (steps <= 0 || is_spatial(*node)) { return ok(); }
  LOOPSMITH_CHECK(annotate(sch, loops[0], "pragma_auto_unroll_max_step", Value(steps)));
  return annotate(sch, loops[0], "pragma_unroll_explicit", Value(int64_t{wishes.unroll_explicit != -1 ? 1 : 0}));
}

// Takes the annotations off the first root block that has any; none: no root block is annotated.
auto take_wishes(Schedule& sch, Wishes& wishes) -> Result<std::optional<BlockRV>> {
  for (const auto& [name, func] : sch.module()->functions) {
    const Block* root = root_block(func);
    if (!root) { continue; }
    wishes = {};
    std::vector<std::string_view> keys;
    for (auto [key, number] : {std::pair{parallel_key, &wishes.parallel}, std::pair{vectorize_key, &wishes.vectorize},
                               std::pair{unroll_explicit_key, &wishes.unroll_explicit}, std::pair{unroll_implicit_key, &wishes.unroll_implicit}}) {
      *number = int_attr(root->annotations, key).value_or(-1);
      if (*number != -1) { keys.push_back(key); }
    }
    if (keys.empty()) { continue; }
    LOOPSMITH_TRY(block, get_block(sch, root->name, name));
    for (std::string_view key : keys) { LOOPSMITH_CHECK(unannotate(sch, block, key)); }
    return std::optional(block);
  }
  return std::optional<BlockRV>();
}

auto apply(Schedule& sch, const TargetNumbers&) -> Verdict {
  for (;;) {
    Wishes wishes;
    LOOPSMITH_TRY(root, take_wishes(sch, wishes));
    if (!root) { return true; }
    LOOPSMITH_TRY(blocks, get_child_blocks(sch, *root));
    for (BlockRV block : blocks) { LOOPSMITH_CHECK(apply_to_block(sch, block, wishes)); }
  }
}

}  // namespace

auto rewrite_parallel_vectorize_unroll() -> Postproc { return {"RewriteParallelVectorizeUnroll", apply}; }

}  // namespace loopsmith::tune::metaschedule
