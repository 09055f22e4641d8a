// The primitive pad_reduction. It turns the bound of a reduction into a condition of the values that the reduction joins, as TVM's schedules of
// tensor expressions do.
#include <algorithm>
#include <vector>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/examples.h"
#include "schedule/primitives.h"
#include "schedule/reducers.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

/// Runs all instances of a reduction: those that its predicate leaves out join a value that changes nothing.
///
///     for i, k0, k1 in T.grid(8, 2, 16):             for i, k0, k1 in T.grid(8, 2, 16):
///         with T.block("C"):                             with T.block("C"):
///             vk = T.axis.reduce(17, k0 * 16 + k1)           vk0, vk1 = T.axis.remap("RR", [k0, k1])
///             T.where(k0 * 16 + k1 < 17)      ==>            C[vi] += T.if_then_else(vk0 * 16 + vk1 < 17,
///             C[vi] += A[vi, vk]                                  A[vi, vk0 * 16 + vk1], 0)
///
/// Then `rfactor` gives every partial result a value, so the block of partial results may be moved.
///
/// Needs  a reduction block with a known combiner (sum, product, min, max, pairs of sums, argmin, argmax); a bound in its predicate that
///        uses only loops of the reduction; an instance that runs, unless the loops run no instance.
/// Keeps  the order of the values that are joined, so results are equal (a sum may become 0.0 in place of -0.0).
struct PadReduction {
  struct Args { BlockArg block; };
  struct Plan {
    Updates updates;
    Reducer reducer;
    std::vector<Expr> lhs, rhs;
    Expr condition;                          // on loops: of the values
    Expr predicate;                          // the rest of the predicate
  };

  static auto feeds(const BlockRealize& realize, const VarNode& var, bool is_reduction) -> bool {
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      const bool is_kind = (realize.block->iter_vars[i].kind == IterKind::Reduction) == is_reduction;
      if (is_kind && uses_var(realize.iter_values[i], [&](const VarNode& v) { return &v == &var; })) { return true; }
    }
    return false;
  }
  static auto is_loop_of(const std::vector<const Place*>& loops, const VarNode& var) -> bool {
    return std::any_of(loops.begin(), loops.end(), [&](const Place* loop) { return loop->loop->var.get() == &var; });
  }

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    (void)scope;
    LOOPSMITH_CHECK(require_reduction(cx, func, *args.block));
    auto updates = find_updates(args.block.block());
    if (!updates) { return note_block(cx.error(Code::ReductionForm).arg("block", args.block->name().view()), *args.block); }
    auto matched = match_reducer(*updates);
    if (!matched) { return note_block(cx.error(Code::ReducerUnknown).arg("block", args.block->name().view()), *args.block); }
    Plan plan{std::move(*updates), std::move(matched->reducer), std::move(matched->lhs), std::move(matched->rhs), {}, bool_imm(true)};
    LOOPSMITH_CHECK(divide_predicate(cx, args, plan));
    LOOPSMITH_CHECK(require_first_instance(cx, args, plan));
    return plan;
  }

  static auto refuse(const Context& cx, const Args& args, const Reason& why) -> Diagnostic {
    return note_block(cx.error(Code::PaddingForm).arg("block", args.block->name().view()).arg("reason", why.text()), *args.block);
  }

  // The bounds that use only loops of the reduction become the condition.
  static auto divide_predicate(const Context& cx, const Args& args, Plan& plan) -> Status {
    const BlockRealize& realize = *args.block->realize;
    const auto loops = args.block.func->loops(*args.block);
    for (const Expr& bound : arith::split_conjunction(realize.predicate)) {
      bool is_of_reduction = false, is_of_others = false;
      (void)uses_var(bound, [&](const VarNode& v) {
        if (!is_loop_of(loops, v)) { return false; }
        const bool is_spatial = feeds(realize, v, false), is_reduction = feeds(realize, v, true);
        is_of_reduction |= is_reduction;
        is_of_others |= is_spatial || !is_reduction;
        return false;
      });
      if (is_of_reduction && !is_of_others) {
        plan.condition = plan.condition ? logical_and(plan.condition, bound) : bound;
      } else {
        plan.predicate = logical_and(plan.predicate, bound);
      }
    }
    if (!plan.condition) { return refuse(cx, args, because(Why::NoBoundOfReduction)); }
    // The values are written with the loops, so these must be loops of the scope.
    for (const Expr& value : realize.iter_values) {
      const VarNode* outer = nullptr;
      if (uses_var(value, [&](const VarNode& v) { return !is_loop_of(loops, v) && !v.dtype.is_handle() && !is_known_at(*args.block.func, &args.block.func->root(), v) && (outer = &v, true); })) {
        return note_block(cx.error(Code::OuterVariable).arg("block", args.block->name().view()).arg("variable", outer->name.view()), *args.block);
      }
    }
    return ok();
  }

  // An element of which no instance ran would be initialised now.
  static auto require_first_instance(const Context& cx, const Args& args, const Plan& plan) -> Status {
    const BlockRealize& realize = *args.block->realize;
    const auto loops = args.block.func->loops(*args.block);
    arith::Analyzer analyzer;
    VarMap first;
    for (const Place* loop : loops) {
      if (feeds(realize, *loop->loop->var, true)) { first[loop->loop->var.get()] = loop->loop->min; }
    }
    const Expr there = analyzer.simplify(substitute(plan.condition, first));
    if (analyzer.can_prove(there)) { return ok(); }
    // Where the first instance does not run, a loop runs no iteration.
    for (const Expr& bound : arith::split_conjunction(there)) {
      if (analyzer.can_prove(bound)) { continue; }
      arith::Analyzer other;
      const auto scope = other.enter(other.simplify(logical_not(bound)));
      const bool is_empty = std::any_of(loops.begin(), loops.end(), [&](const Place* loop) {
        return feeds(realize, *loop->loop->var, true) && other.can_prove(less_equal(loop->loop->extent, zero(loop->loop->extent.dtype())));
      });
      if (!is_empty) { return refuse(cx, args, because(Why::NoFirstInstance)); }
    }
    return ok();
  }

  /// The reduction's iter vars are replaced by one for each of its loops.
  struct Iters {
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    VarMap of_loops;                         // loops to new iter vars
    VarMap old_vars;                         // old iter vars to expressions of new ones
  };
  static auto iters_of(const Context& cx, const Args& args) -> Iters {
    const BlockRealize& realize = *args.block->realize;
    const Block& block = args.block.block();
    const Origin origin = cx.made_from(block.origin);
    Iters out;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].kind == IterKind::Reduction) { continue; }
      out.iters.push_back(block.iter_vars[i]);
      out.values.push_back(realize.iter_values[i]);
    }
    for (const Place* loop : args.block.func->loops(*args.block)) {
      if (!feeds(realize, *loop->loop->var, true)) { continue; }
      IterVar iter;
      iter.var = make<VarNode>(Name("v" + loop->loop->var->name.str()), loop->loop->var->dtype, origin);
      iter.dom = {loop->loop->min, loop->loop->extent};
      iter.kind = IterKind::Reduction;
      iter.origin = origin;
      out.of_loops[loop->loop->var.get()] = iter.var;
      out.values.emplace_back(loop->loop->var);
      out.iters.push_back(std::move(iter));
    }
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].kind == IterKind::Reduction) { out.old_vars[block.iter_vars[i].var.get()] = substitute(realize.iter_values[i], out.of_loops); }
    }
    return out;
  }

  // The stores of the reduction, of values that join nothing where the condition is false.
  static auto guarded_body(const Plan& plan, const Iters& iters, Origin origin) -> Stmt {
    const Expr condition = substitute(plan.condition, iters.of_loops);
    VarMap joined;
    for (size_t i = 0; i < plan.rhs.size(); ++i) {
      const Expr value = substitute(plan.rhs[i], iters.old_vars);
      joined[plan.reducer.lhs[i].get()] = plan.lhs[i];
      joined[plan.reducer.rhs[i].get()] = FAULT(pad_reduction_unguarded) ? value : if_then_else(condition, value, plan.reducer.identity[i], origin);
    }
    std::vector<Expr> values;
    for (const Expr& result : plan.reducer.result) { values.push_back(substitute(result, joined)); }
    const auto& stores = plan.updates.stores;
    if (stores.size() == 1) { return make<BufferStore>(stores[0]->buffer, values[0], stores[0]->indices, origin); }
    std::vector<Var> lets;
    std::vector<Stmt> items;
    for (size_t i = 0; i < stores.size(); ++i) {
      lets.push_back(make<VarNode>(Name("v_" + stores[i]->buffer->name.str()), values[i].dtype(), origin));
      items.push_back(make<BufferStore>(stores[i]->buffer, Expr(lets[i]), stores[i]->indices, origin));
    }
    Stmt body = seq(std::move(items), origin);
    for (size_t i = stores.size(); i-- > 0;) { body = make<LetStmt>(lets[i], values[i], std::move(body), origin); }
    return body;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& block = args.block.block();
    const Origin origin = cx.made_from(block.origin);
    const Iters iters = iters_of(cx, args);
    auto fields = block.fields();
    fields.iter_vars = iters.iters;
    fields.body = guarded_body(plan, iters, origin);
    std::vector<BufferRegion> reads;
    for (const BufferRegion& read : block.reads) {
      std::vector<Range> region;
      for (const Range& range : read.region) { region.push_back(substitute(range, iters.old_vars)); }
      reads.push_back({read.buffer, Array<Range>(std::move(region)), read.origin});
    }
    fields.reads = std::move(reads);
    Stmt realize = make<BlockRealize>(Array<Expr>(iters.values), plan.predicate, make<Block>(std::move(fields), origin, block.id), cx.made_from(args.block->realize->origin));
    Outcome out;
    out.func = args.block.func->name();
    out.rewrite.changes.push_back({args.block->id, std::move(realize)});
    return out;
  }
};

}  // namespace

const Primitive pad_reduction = primitive<PadReduction>("pad_reduction", "PadReduction", "runs all instances of a reduction; those beyond its bound join nothing",
    {Order::Changed, Hidden::MovesBlock | Hidden::StaysInLoops})
    .input("block", &PadReduction::Args::block)
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nk0, k1 = sch.split(k, factors=[None, 12])\nsch.pad_reduction(\"C\")");

}  // namespace loopsmith::schedule::primitives
