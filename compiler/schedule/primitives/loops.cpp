// Primitives that reshape a loop nest: split, fuse, reorder, add_unit_loop. They change the numbering
// and order of block instances, but run the same instances. Affine reasoning is in arith/iter_map.h. Source: TensorIR (ASPLOS'23).
#include <algorithm>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "ir/dialects.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/wrapped.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/counted_races.h"
#include "schedule/examples.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/instances.h"
#include "schedule/facts/store_order.h"
#include "schedule/func_tree.h"
#include "schedule/primitives.h"
#include "schedule/races.h"
#include "schedule/reducers.h"
#include "schedule/requirements.h"
#include "schedule/beyond_type.h"
#include "schedule/rewriting.h"
#include "schedule/schedule.h"
#include "schedule/surplus.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"

namespace loopsmith::schedule::primitives {
namespace {

auto loop_var(Name name, DataType dtype, Origin origin) -> Var { return make<VarNode>(name, dtype, origin); }

auto largest(DataType dtype) -> __int128 { return *as_int(max_value(dtype)); }

// Replaces calls of `T.vscale()` by a number.
class WithVscale final : public Mutator {
 public:
  explicit WithVscale(int64_t value) : value_(value) {}
  using Mutator::on;
  auto on(const Call& n) -> Expr override {
    return n.op == vscale_name() ? int_imm(value_, n.dtype) : Mutator::on(n);
  }
  static auto vscale_name() -> Name {
    static const Name name("vscale");
    return name;
  }

 private:
  int64_t value_;
};
auto counts_vectors(const Expr& e) -> bool {
  bool found = false;
  post_order(e, [&](const Expr& part) { found |= part.as<Call>() && part.as<Call>()->op == WithVscale::vscale_name(); });
  return found;
}

/// Replaces a loop by a nest of loops.
///
///     for i in range(30):                    for i_0, i_1 in T.grid(4, 8):
///         B[i] = A[i]               ==>          with T.block("B"):
///                                                    T.where(i_0 * 8 + i_1 < 30)
///
/// Needs  the loop starts at 0, is not bound to a thread or annotated; factors are positive, at most one is
///        None, their product is at least the extent. With `disable_predication` the product is the extent, or surplus iterations only repeat
///        block instances, with the same results; if the extent is not a number, the caller guarantees this. Factors may
///        be expressions of sampled integers and of `T.vscale()`, whose values follow from a target with scalable vectors.
/// Keeps  the order of block instances, so results are equal bit for bit.
struct Split {
  struct Args {
    LoopArg loop;
    std::vector<Value> factors;               // None: inferred; a number; an expression
    bool preserve_unit_iters = true;
    bool disable_predication = false;
  };
  struct Plan { std::vector<Expr> factors; bool needs_predicate; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const For& loop = args.loop.loop();
    LOOPSMITH_CHECK(require_plain_loop(cx, args.loop));
    LOOPSMITH_CHECK(require_starts_at_zero(cx, args.loop));
    if (args.factors.size() > deepest_nest) { return cx.error(Code::NestedTooDeeply).arg("limit", static_cast<int64_t>(deepest_nest)); }
    if (args.factors.empty()) { return note_loop(cx.error(Code::SplitFactorCount).arg("loop", args.loop->name().view()), *args.loop).remedy("give two factors or more: `factors=[None, 4]`"); }
    DataType dtype = loop.var->dtype;
    std::optional<size_t> inferred;
    bool is_constant = true;
    int64_t product = 1;
    Expr symbolic = one(dtype);
    Plan plan;
    for (size_t i = 0; i < args.factors.size(); ++i) {
      if (args.factors[i].is_none()) {
        if (inferred) { return note_loop(cx.error(Code::SplitInferTwice).arg("loop", args.loop->name().view()), *args.loop).remedy("give a number for all factors but one"); }
        inferred = i;
        plan.factors.emplace_back();
        continue;
      }
      LOOPSMITH_TRY(factor, factor_of(cx, args, args.factors[i]));
      if (std::optional<int64_t> number = as_int(factor)) {
        if (*number <= 0) { return note_loop(cx.error(Code::SplitFactorSign).arg("loop", args.loop->name().view()).arg("factor", *number), *args.loop); }
        if (__int128 exact = __int128{product} * *number; exact > largest(dtype)) {
          return note_loop(size_beyond_type(cx, "the product of the factors", decimal(exact), dtype), *args.loop);
        }
        product *= *number;
      } else {
        is_constant = false;
      }
      symbolic = symbolic * factor;
      plan.factors.push_back(std::move(factor));
    }
    auto extent = as_int(loop.extent);
    arith::Analyzer analyzer;
    if (inferred) {
      if (extent && is_constant) {
        plan.factors[*inferred] = int_imm(*extent / product + (*extent % product > 0 ? 1 : 0), dtype);
      } else {
        Expr divisor = is_constant ? int_imm(product, dtype) : symbolic;
        plan.factors[*inferred] = analyzer.simplify(floordiv(loop.extent + (is_constant ? int_imm(product - 1, dtype) : symbolic - one(dtype)), divisor));
      }
    } else if (!is_constant) {
      if (!is_enough(cx, symbolic, loop.extent)) { return unknown_product(cx, args, analyzer.simplify(symbolic)); }
    } else if (!extent) {
      if (!analyzer.can_prove(greater_equal(int_imm(product, dtype), loop.extent))) { return unknown_product(cx, args, int_imm(product, dtype)); }
    } else if (product < *extent) {
      return note_loop(cx.error(Code::SplitProduct).arg("loop", args.loop->name().view()).arg("product", product).arg("extent", *extent), *args.loop)
          .remedy("leave one factor out: it is then inferred, as in `factors=[None, 4]`");
    }
    // True if the last value is below the extent.
    plan.needs_predicate = !args.disable_predication;
    if (extent && is_constant) {
      // The values of the split loop, including those that the predicate excludes, lie below the product.
      __int128 exact = 1;
      for (const Expr& factor : plan.factors) { exact *= *as_int(factor); }
      if (exact > *extent && exact - 1 > largest(dtype)) {
        return note_loop(size_beyond_type(cx, fmt::format("`{}`, rounded up to a multiple of the factors,", args.loop->name().view()), decimal(exact - 1), dtype), *args.loop);
      }
      auto total = static_cast<int64_t>(std::min<__int128>(exact, std::numeric_limits<int64_t>::max()));
      if (total > *extent && args.disable_predication && !surplus_changes_nothing(*args.loop.func, *args.loop, total)) {
        return note_loop(cx.error(Code::SplitNeedsPredicate).arg("loop", args.loop->name().view()).arg("product", total).arg("extent", *extent), *args.loop)
            .remedy("leave `disable_predication` out, or choose factors whose product is the extent");
      }
      plan.needs_predicate = total > *extent && !args.disable_predication;
    }
    // A predicate guards blocks only: conditions around them would load elements behind the last one.
    if (plan.needs_predicate) { LOOPSMITH_CHECK(require_blocks_only(cx, args.loop, true)); }
    return plan;
  }

  // A factor as an expression of the loop's type: a number, or an expression over variables that are defined around the loop.
  static auto factor_of(const Context& cx, const Args& args, const Value& value) -> Result<Expr> {
    const For& loop = args.loop.loop();
    DataType dtype = loop.var->dtype;
    const auto* given = value.as<Expr>();
    if (!given || given->as<IntImm>()) {
      int64_t number = 0;
      LOOPSMITH_CHECK(convert(cx, cx.primitive.params[1], value, number));
      if (number > largest(dtype)) { return note_loop(size_beyond_type(cx, "a factor", decimal(number), dtype), *args.loop); }
      return int_imm(number, dtype);
    }
    if (!given->dtype().is_int() && !given->dtype().is_uint()) {
      return cx.error(Code::ParameterKind).arg("parameter", "factors").arg("expected", "an integer").arg("found", given->dtype().str());
    }
    std::unordered_set<const VarNode*> known;
    const PrimFunc& func = args.loop.func->func();
    auto add = [&](const Expr& e) { if (const auto* var = e.as<VarNode>()) { known.insert(var); } };
    for (const Var& param : func->params) { known.insert(param.get()); }
    for (const auto& [param, buffer] : func->buffer_map) {
      for (const Expr& size : buffer->shape) { post_order(size, add); }
    }
    for (const Place* at = args.loop.func->parent(*args.loop); at; at = args.loop.func->parent(*at)) {
      if (at->is_loop()) { known.insert(at->loop->var.get()); }
    }
    const VarNode* unknown = nullptr;
    if (uses_var(*given, [&](const VarNode& v) { return known.count(&v) ? false : (unknown = &v, true); })) {
      return note_loop(cx.error(Code::SplitFactorVariable).arg("loop", args.loop->name().view()).arg("factor", print_script(*given))
                           .arg("variable", unknown->name.view()), *args.loop);
    }
    // Simplifies a factor to the form that TVM passes on.
    arith::Analyzer analyzer;
    return cast(dtype, analyzer.simplify(*given));
  }

  // Checks a factor with `T.vscale()` for every vector length that the machine may have.
  static auto is_enough(const Context& cx, const Expr& product, const Expr& extent) -> bool {
    arith::Analyzer analyzer;
    Expr condition = greater_equal(product, extent);
    if (analyzer.can_prove(condition)) { return true; }
    if (cx.most_vscale == 0 || !counts_vectors(condition)) { return false; }
    for (int64_t vscale = 1; vscale <= cx.most_vscale; vscale *= 2) {
      if (!analyzer.can_prove(WithVscale(vscale).mutate(condition))) { return false; }
    }
    return true;
  }

  static auto unknown_product(const Context& cx, const Args& args, const Expr& product) -> Diagnostic {
    const For& loop = args.loop.loop();
    Diagnostic out = note_loop(cx.error(Code::SplitProductUnknown).arg("loop", args.loop->name().view()).arg("product", print_script(product))
                                   .arg("extent", print_script(loop.extent)), *args.loop);
    if (cx.most_vscale == 0 && counts_vectors(product)) {
      out.remedies.emplace_back("give the schedule a target with scalable vectors, as in `target=\"llvm -mtriple=aarch64-linux-gnu -mattr=+sve\"`");
    }
    out.remedies.emplace_back("leave the outermost factor out: it is then inferred");
    return out;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const For& loop = args.loop.loop();
    Origin origin = cx.made_from(loop.origin);
    DataType dtype = loop.var->dtype;
    arith::Analyzer analyzer;
    Expr value = zero(dtype);
    Domains domains;
    for (size_t i = 0; i < plan.factors.size(); ++i) {
      Var var = loop_var(Name(fmt::format("{}_{}", loop.var->name.view(), i)), dtype, loop.var->origin);
      Expr step = FAULT(split_off_by_one) && i > 0 ? sub(plan.factors[i], one(dtype)) : plan.factors[i];
      value = add(mul(value, step, origin), var, origin);
      domains.emplace_back(var, Range{zero(dtype), plan.factors[i]});
    }
    Stmt body = substitute(loop.body, VarMap{{loop.var.get(), value}});
    if (plan.needs_predicate && !FAULT(split_predicate_lost)) {
      Expr predicate = less(value, FAULT(split_predicate_short) ? sub(loop.extent, one(dtype)) : loop.extent, origin);
      bool is_always_true = false;
      if (!as_int(loop.extent)) {
        for (const auto& [var, range] : domains) { analyzer.bind(var, range); }
        is_always_true = analyzer.can_prove(predicate, arith::Strength::SymbolicBound);
      }
      if (!is_always_true) { body = add_predicate(body, predicate); }
    }
    Outcome out;
    Stmt nest = wrap_loops(std::move(body), domains, origin);
    nest = simplify_bindings(nest, domains_around(*args.loop.func, *args.loop), !args.preserve_unit_iters, cx.state.module()->dialect);
    Stmt at = nest;
    for (size_t i = 0; i < domains.size(); ++i) {
      const For* made = at.as<For>();
      out.outputs.push_back(Output::loop(made->id));
      at = made->body;
    }
    out.func = args.loop.func->name();
    out.rewrite.changes.push_back({args.loop->id, std::move(nest)});
    return out;
  }
};

/// Joins directly nested loops into one.
///
///     for i in range(4):                     for i_j_fused in range(32):
///         for j in range(8):       ==>           B[i_j_fused // 8, i_j_fused % 8] = ...
///             B[i, j] = A[i, j]
///
/// Needs  each loop is the only statement in the one around it; all start at 0; none is bound to
///        a thread or annotated; no extent mentions a fused loop.
/// Keeps  the order of block instances, so results are equal bit for bit.
struct Fuse {
  struct Args { std::vector<LoopArg> loops; bool preserve_unit_iters = true; };
  struct Plan { Expr extent; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    if (args.loops.empty()) { return cx.error(Code::NoLoops).arg("needed", "one loop").arg("given", "none"); }
    arith::Analyzer analyzer;
    Expr extent = int_imm(1);
    __int128 known = 1;        // the product of the constant extents
    DataType dtype = args.loops.front().loop().var->dtype;
    std::unordered_set<const VarNode*> outer_vars;
    const LoopArg* outer = nullptr;
    for (const LoopArg& loop : args.loops) {
      LOOPSMITH_CHECK(require_plain_loop(cx, loop));
      if (outer) {
        if (loop.func != outer->func || loop->parent != (*outer)->index) {
          return note_loop(note_loop(cx.error(Code::LoopNotDirectlyInside).arg("loop", loop->name().view()).arg("outer", (*outer)->name().view()), **outer), *loop)
              .remedy("bring the loops next to each other first: `sch.reorder(...)`");
        }
        if (outer->loop().body.get() != &loop.loop()) { return sibling_error(cx, *outer, loop); }
      }
      LOOPSMITH_CHECK(require_starts_at_zero(cx, loop));
      const VarNode* used = nullptr;
      if (uses_var(loop.loop().extent, [&](const VarNode& v) { return outer_vars.count(&v) ? (used = &v, true) : false; })) {
        return note_loop(cx.error(Code::LoopDependent).arg("loop", loop->name().view()).arg("on", used->name.view()), *loop);
      }
      outer_vars.insert(loop.loop().var.get());
      outer = &loop;
      if (loop.loop().var->dtype.bits > dtype.bits) { dtype = loop.loop().var->dtype; }
      // More factors could overflow even 128 bits; the extents of an empty loop have no effect.
      if (auto number = as_int(loop.loop().extent); number && known <= largest(DataType::int_(64))) { known *= std::max<int64_t>(*number, 0); }
    }
    if (known > largest(dtype)) { return note_loop(size_beyond_type(cx, "the product of the extents", decimal(known), dtype), *args.loops.front()); }
    bool is_constant = true;
    for (const LoopArg& loop : args.loops) { is_constant = is_constant && as_int(loop.loop().extent); }
    if (is_constant) { return Plan{int_imm(static_cast<int64_t>(known), dtype)}; }
    for (const LoopArg& loop : args.loops) { extent = extent * loop.loop().extent; }
    return Plan{analyzer.simplify(extent)};
  }

  static auto sibling_error(const Context& cx, const LoopArg& outer, const LoopArg& inner) -> Diagnostic {
    Diagnostic out = note_loop(cx.error(Code::LoopNotOnlyChild).arg("loop", inner->name().view()).arg("outer", outer->name().view()), *inner);
    for (const Place* block : outer.func->child_blocks(*outer)) {
      if (outer.func->is_below(*block, *inner)) { continue; }
      out.notes.push_back({block->block()->origin, fmt::format("block `{}` also runs inside `{}`", block->name().view(), outer->name().view()), block->id});
      out.node_ids.push_back(block->id);
      std::string_view name = block->name().view();
      if (name.size() > 5 && name.substr(name.size() - 5) == "_init") {
        out.remedies.push_back(fmt::format("fuse before `decompose_reduction`, or decompose at `{}`", outer->name().view()));
      }
      break;
    }
    if (out.remedies.empty()) { out.remedies.push_back(fmt::format("move the other statement out of `{}` first", outer->name().view())); }
    return out;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const For& first = args.loops.front().loop();
    Origin origin = cx.made_from(first.origin);
    std::string name = first.var->name.str();
    int bits = first.var->dtype.bits;
    for (size_t i = 1; i < args.loops.size(); ++i) {
      name += "_" + args.loops[i]->name().str();
      bits = std::max<int>(bits, args.loops[i].loop().var->dtype.bits);
    }
    DataType dtype = DataType::int_(bits);
    Var fused = loop_var(Name(name + "_fused"), dtype, first.var->origin);
    VarMap map;
    // Dialects with `T.sblock` multiply sizes in the order of the loops.
    const bool is_recent = dialects::is_recent(cx.state.module()->dialect);
    Expr lower = int_imm(1, dtype);
    for (size_t i = args.loops.size(); i-- > 0;) {
      const For& loop = args.loops[i].loop();
      Expr value = zero(dtype);
      Expr reach = lower * loop.extent;
      if (is_recent && !as_int(reach)) { reach = arith::Analyzer().canonical_simplify(loop.extent * lower); }
      if (!is_one(loop.extent)) {
        Expr part = i == 0 || FAULT(fuse_remainder_lost) ? Expr(fused) : floormod(fused, reach, origin);
        value = FAULT(fuse_division_swapped) ? floormod(part, lower, origin) : floordiv(part, lower, origin);
      }
      map[loop.var.get()] = value;
      lower = std::move(reach);
    }
    const For& innermost = args.loops.back().loop();
    Stmt body = substitute(innermost.body, map);
    Stmt nest = make<For>(fused, zero(dtype), cast(dtype, plan.extent), ForKind::Serial, std::move(body), std::optional<IterVar>(), AttrMap(), origin);
    nest = simplify_bindings(nest, domains_around(*args.loops.front().func, *args.loops.front()), !args.preserve_unit_iters, cx.state.module()->dialect);
    Outcome out;
    out.func = args.loops.front().func->name();
    out.outputs.push_back(Output::loop(nest.as<For>()->id));
    out.rewrite.changes.push_back({args.loops.front()->id, std::move(nest)});
    return out;
  }
};

/// Changes the order of nested loops. Loops in between that are not named stay in their positions.
///
///     for i, j, k in T.grid(4, 8, 2):        for k, j, i in T.grid(2, 8, 4):
///         ...                      ==>           ...
///
/// Needs  a chain of loops, each the only statement in the one around it; blocks below with spatial and reduction iter
///        vars and affine bindings, which read from each other only elements of the same iteration; no bound that uses a loop
///        that moves inside; for each element that several instances of a block access, the
///        same value at the end.
/// Keeps  the same block instances; a reduction accumulates in another order, so its updates must commute (of equal values, argmin
///        and argmax may find another one).
struct Reorder {
  struct Args { std::vector<LoopArg> ordered_loops; };
  struct Plan { std::vector<const Place*> chain; std::vector<const For*> order; };   // from outside to inside

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    Plan plan;
    if (args.ordered_loops.empty()) { return cx.error(Code::NoLoops).arg("needed", "one loop").arg("given", "none"); }
    if (args.ordered_loops.size() == 1) { return plan; }
    const FuncState& func = *args.ordered_loops.front().func;
    for (size_t i = 0; i < args.ordered_loops.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (args.ordered_loops[i].place == args.ordered_loops[k].place) {
          return note_loop(cx.error(Code::LoopTwice).arg("loop", args.ordered_loops[i]->name().view()), *args.ordered_loops[i]);
        }
      }
    }
    // The deepest of the loops; all others are around it.
    const Place* bottom = args.ordered_loops.front().place;
    const Place* top = bottom;
    for (const LoopArg& loop : args.ordered_loops) {
      if (loop.func != &func || loop->scope != bottom->scope) {
        return note_loop(note_loop(cx.error(Code::LoopsNotInScope).arg("loop", loop->name().view()).arg("other", bottom->name().view()), *bottom), *loop);
      }
      if (loop->index < top->index) { top = loop.place; }
      if (func.is_below(*loop, *bottom)) { bottom = loop.place; }
    }
    for (const LoopArg& loop : args.ordered_loops) {
      if (loop.place != bottom && !func.is_below(*bottom, *loop)) {
        return note_loop(note_loop(cx.error(Code::LoopsNotChain).arg("loop", loop->name().view()).arg("other", bottom->name().view()), *bottom), *loop);
      }
    }
    for (const Place* at = bottom;; at = func.parent(*at)) {
      plan.chain.insert(plan.chain.begin(), at);
      if (at == top) { break; }
      const Place* outer = func.parent(*at);
      if (outer->loop->body.get() != at->loop) { return branch_error(cx, func, *outer, *at); }
    }
    size_t next = 0;
    for (const Place* at : plan.chain) {
      bool is_named = std::any_of(args.ordered_loops.begin(), args.ordered_loops.end(), [&](const LoopArg& l) { return l.place == at; });
      plan.order.push_back(is_named ? &args.ordered_loops[next++].loop() : at->loop);
    }
    LOOPSMITH_CHECK(check_bounds(cx, func, plan));
    for (const Place* block : func.child_blocks(*bottom)) {
      LOOPSMITH_CHECK(check_block(cx, func, *block, *top));
    }
    if (!changes_order(plan)) { return plan; }
    if (!FAULT(reorder_dependence_dropped)) {
      LOOPSMITH_CHECK(require_local_dependences(cx, func, *bottom));
      if (several_leaves(func, *bottom)) {
        if (Races found = counted_crossings(func, *top, *bottom); found.block) {
          return note_block(note_loop(cx.error(Code::IterationsDepend).arg("loop", bottom->name().view()).arg("producer", found.other->name().view())
                                          .arg("consumer", found.block->name().view()), *bottom), *found.block);
        }
      }
    }
    for (const Place* block : func.child_blocks(*bottom)) {
      LOOPSMITH_CHECK(check_reduction_order(cx, func, *block, plan));
      LOOPSMITH_CHECK(check_shared_instances(cx, func, *block, plan));
      if (!FAULT(reorder_dependence_dropped)) { LOOPSMITH_CHECK(check_last_stores(cx, func, *block, plan)); }
    }
    LOOPSMITH_CHECK(check_races(cx, args, plan));
    return plan;
  }

  // Refuses to move a loop outside of another loop whose variable its bounds use.
  static auto check_bounds(const Context& cx, const FuncState& func, const Plan& plan) -> Status {
    std::unordered_set<const VarNode*> inner_vars;
    for (size_t i = plan.order.size(); i-- > 0;) {
      const For& loop = *plan.order[i];
      const VarNode* used = nullptr;
      auto is_inner = [&](const VarNode& v) { return inner_vars.count(&v) ? (used = &v, true) : false; };
      if (uses_var(loop.min, is_inner) || uses_var(loop.extent, is_inner)) {
        return note_loop(cx.error(Code::ReorderDependent).arg("loop", loop.var->name.view()).arg("on", used->name.view()), *func.find(loop.id))
            .remedy(fmt::format("keep `{}` outside of `{}`", used->name.view(), loop.var->name.view()));
      }
      inner_vars.insert(loop.var.get());
    }
    return ok();
  }

  // True if iterations may run in another order than before. Loops of one iteration have no effect, except on iterations that run at the same
  // time: outside of a sum, each of these has a separate sum, even if the sum has a single term.
  static auto changes_order(const Plan& plan) -> bool {
    bool all_in_order = std::none_of(plan.order.begin(), plan.order.end(), [](const For* loop) { return runs_at_once(*loop) || loop->thread; });
    std::vector<const For*> before, after;
    for (size_t i = 0; i < plan.order.size(); ++i) {
      if (!all_in_order || !is_one(plan.chain[i]->loop->extent)) { before.push_back(plan.chain[i]->loop); }
      if (!all_in_order || !is_one(plan.order[i]->extent)) { after.push_back(plan.order[i]); }
    }
    return before != after;
  }

  // True if the loop that moves to a position of the nest leaves loops of several iterations that were around it.
  static auto moves_out(const Plan& plan, size_t i) -> bool {
    auto before = [&](const For* loop) {
      return std::find_if(plan.chain.begin(), plan.chain.end(), [&](const Place* at) { return at->loop == loop; }) - plan.chain.begin();
    };
    return std::any_of(plan.order.begin() + static_cast<ptrdiff_t>(i) + 1, plan.order.end(),
                       [&](const For* inner) { return before(inner) < before(plan.order[i]) && !is_one(inner->extent); });
  }

  // Iterations that run at the same time may conflict once a loop that separated their work in time is no longer around them.
  static auto check_races(const Context& cx, const Args& args, const Plan& plan) -> Status {
    if (FAULT(reorder_dependence_dropped)) { return ok(); }
    std::vector<NodeId> moved;
    for (size_t i = 0; i < plan.order.size(); ++i) {
      if (runs_at_once(*plan.order[i]) && !is_one(plan.order[i]->extent) && moves_out(plan, i)) { moved.push_back(plan.order[i]->id); }
    }
    return moved.empty() ? ok() : require_no_new_race(cx, apply(cx, args, plan), moved);
  }

  // True if the loop has several blocks below it, none inside of another.
  static auto several_leaves(const FuncState& func, const Place& bottom) -> bool {
    int leaves = 0;
    for (int i = bottom.index + 1; i < bottom.end && leaves < 2; ++i) {
      const Place& place = func.places()[static_cast<size_t>(i)];
      if (!place.is_block()) { continue; }
      bool holds_block = false;
      for (int inner = i + 1; inner < place.end && !holds_block; ++inner) { holds_block = func.places()[static_cast<size_t>(inner)].is_block(); }
      leaves += holds_block ? 0 : 1;
    }
    return leaves > 1;
  }

  // Without the loops that separated their instances, iterations that run at the same time may all compute the same element. This matters if the block takes
  // several steps to compute it: a reduction, a block with an init, or one that reads its output.
  static auto check_shared_instances(const Context& cx, const FuncState& func, const Place& place, const Plan& plan) -> Status {
    const Block& block = *place.block();
    const BlockRealize& realize = *place.realize;
    auto is_written = [&](const BufferRegion& read) {
      return std::any_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& write) { return write.buffer == read.buffer; });
    };
    std::vector<Expr> spatial;
    bool in_steps = block.init || std::any_of(block.reads.begin(), block.reads.end(), is_written);
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      bool is_spatial = block.iter_vars[i].kind == IterKind::Spatial;
      in_steps |= !is_spatial;
      if (is_spatial) { spatial.push_back(realize.iter_values[i]); }
    }
    if (!in_steps || spatial.empty()) { return ok(); }
    std::vector<std::pair<Var, Range>> loops = loop_domains(func, place);
    auto first = std::find_if(loops.begin(), loops.end(), [&](const auto& loop) { return loop.first == plan.chain.front()->loop->var; });
    for (const For* loop : plan.order) { *first++ = {loop->var, Range{loop->min, loop->extent}}; }
    for (size_t i = 0; i < plan.order.size(); ++i) {
      const For& loop = *plan.order[i];
      if (!runs_at_once(loop) || is_one(loop.extent) || !moves_out(plan, i)) { continue; }
      auto shared = counted_sharing(loops, loop.var, spatial, realize.predicate);
      if (shared ? !*shared : tells_iterations_apart(spatial, loops, realize.predicate, loop.var.get())) { continue; }
      return note_block(note_loop(cx.error(Code::ReductionShared).arg("loop", loop.var->name.view()).arg("block", place.name().view()), *func.find(loop.id)), place);
    }
    return ok();
  }

  // Instances that store different values to one element keep their order, as far as the order decides which value stays; so do those that read elements of others.
  static auto check_last_stores(const Context& cx, const FuncState& func, const Place& place, const Plan& plan) -> Status {
    if (!func.child_blocks(place).empty()) { return ok(); }
    const Block& block = *place.block();
    // Updates of one element may run in another order, up to the rounding of reals.
    const bool reads = reads_what_it_stores(block);
    if (reads ? updates_commute(block) : stores_apart(block)) { return ok(); }
    BlockLoops before{loop_domains(func, place), place.realize->iter_values.to_vector(), place.realize->predicate};
    auto first = std::find_if(before.loops.begin(), before.loops.end(), [&](const auto& loop) { return loop.first == plan.chain.front()->loop->var; });
    for (auto it = before.loops.begin(); it != first; ++it) { it->second.extent = one(it->second.extent.dtype()); }
    BlockLoops now = before;
    auto at = now.loops.begin() + (first - before.loops.begin());
    for (const For* loop : plan.order) { *at++ = {loop->var, Range{loop->min, loop->extent}}; }
    const StoresMeet meet = reads ? changed_accesses(block, before, now) : changed_stores(block, before, now);
    if (meet.answer != StoresMeet::Answer::Differ) { return ok(); }
    const For* outer = nullptr;               // the first loop that moves, and the one that takes its position
    const For* other = nullptr;
    for (size_t i = 0; i < plan.order.size() && !outer; ++i) {
      if (plan.chain[i]->loop != plan.order[i]) { outer = plan.chain[i]->loop; other = plan.order[i]; }
    }
    return note_block(cx.error(Code::UpdateOrder).arg("loop", outer->var->name.view()).arg("other", other->var->name.view()).arg("block", place.name().view()).arg("shown", "instances"), place)
        .note(block.body->origin, meet.text(block))
        .remedy(fmt::format("keep `{}` outside of `{}`", outer->var->name.view(), other->var->name.view()));
  }

  // True if iterations of two loops together, but not of each loop alone, run instances of a block again.
  static auto repeat_together(const FuncState& func, const Place& block, const VarNode& a, const VarNode& b) -> bool {
    auto is_used = [&](const VarNode& v) {
      return std::any_of(block.realize->iter_values.begin(), block.realize->iter_values.end(), [&](const Expr& e) { return uses_var(e, [&](const VarNode& u) { return &u == &v; }); });
    };
    bool wraps = false;
    for (const Expr& value : block.realize->iter_values) {
      post_order(value, [&](const Expr& e) {
        const auto* mod = e.as<FloorMod>();
        wraps = wraps || (mod && uses_var(mod->a, [&](const VarNode& v) { return &v == &a; }) && uses_var(mod->a, [&](const VarNode& v) { return &v == &b; }));
      });
    }
    if (!wraps) { return false; }
    std::vector<std::pair<Var, Range>> used;
    for (const auto& loop : loop_domains(func, block)) { if (is_used(*loop.first)) { used.push_back(loop); } }
    arith::Analyzer analyzer;
    return arith::detect_iter_map(block.realize->iter_values.to_vector(), used, block.realize->predicate, arith::IterMapLevel::Bijective, analyzer, false).indices.empty();
  }

  // A reduction begins with its init if, for each element, the first instance is the one in which all reduction iter vars have their first
  // value. Loops that feed only reduction iter vars may be in any order, since they start together. Two kinds of loops keep their order, and stay
  // outside: loops that feed both spatial and reduction iter vars, and loops that feed none and so run the reduction again.
  static auto check_reduction_order(const Context& cx, const FuncState& func, const Place& block, const Plan& plan) -> Status {
    const BlockRealize& realize = *block.realize;
    std::unordered_set<const VarNode*> spatial, reduction;
    bool is_reduction = false;
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      bool reduces = block.block()->iter_vars[i].kind != IterKind::Spatial;
      is_reduction |= reduces;
      post_order(realize.iter_values[i], [&](const Expr& e) { if (const auto* v = e.as<VarNode>()) { (reduces ? reduction : spatial).insert(v); } });
    }
    if (!is_reduction || FAULT(reorder_init_ignored)) { return ok(); }
    // Loops that share an iter value with a mixed loop count as mixed.
    std::unordered_set<const VarNode*> mixed;
    for (const VarNode* v : spatial) { if (reduction.count(v)) { mixed.insert(v); } }
    for (bool grew = !mixed.empty(); grew;) {
      grew = false;
      for (size_t i = 0; i < realize.iter_values.size(); ++i) {
        if (block.block()->iter_vars[i].kind == IterKind::Spatial) { continue; }
        std::vector<const VarNode*> used;
        bool has_mixed = false;
        post_order(realize.iter_values[i], [&](const Expr& e) {
          if (const auto* v = e.as<VarNode>()) {
            used.push_back(v);
            has_mixed |= mixed.count(v) != 0;
          }
        });
        if (has_mixed) { for (const VarNode* v : used) { grew |= mixed.insert(v).second; } }
      }
    }
    auto before = [&](const For* loop) {
      return std::find_if(plan.chain.begin(), plan.chain.end(), [&](const Place* at) { return at->loop == loop; }) - plan.chain.begin();
    };
    std::optional<bool> commutes;            // computed on demand
    for (size_t i = 0; i < plan.order.size(); ++i) {
      for (size_t k = i + 1; k < plan.order.size(); ++k) {
        const For& outer = *plan.order[i];
        const For& inner = *plan.order[k];
        const VarNode* a = outer.var.get();
        const VarNode* b = inner.var.get();
        if (before(&outer) < before(&inner) || is_one(inner.extent)) { continue; }
        bool repeats = reduction.count(a) && repeats_instances(realize, inner);
        // Iterations that run at the same time outside of a sum have separate sums, even if the sum has a single term.
        bool is_short = is_one(outer.extent) && !(repeats && runs_at_once(inner));
        if (is_short) { continue; }
        // Two loops in one remainder together run some of the reduction again, in another order.
        bool repeats_before = reduction.count(b) && (repeats_instances(realize, outer) || (reduction.count(a) && repeat_together(func, block, *a, *b)));
        if (reduction.count(a) && reduction.count(b) && !commutes) { commutes = updates_commute(*block.block()); }
        if (reduction.count(a) && reduction.count(b) && !*commutes) {
          return note_block(cx.error(Code::UpdateOrder).arg("loop", b->name.view()).arg("other", a->name.view()).arg("block", block.name().view()), block)
              .at_node(func.find(outer.id)->id)
              .remedy(fmt::format("keep `{}` outside of `{}`", b->name.view(), a->name.view()));
        }
        if (repeats && is_one(outer.extent)) {
          return note_block(note_loop(cx.error(Code::ReductionShared).arg("loop", b->name.view()).arg("block", block.name().view()), *func.find(inner.id)), block)
              .remedy(fmt::format("keep `{}` outside of `{}`", b->name.view(), a->name.view()));
        }
        if ((mixed.count(a) && mixed.count(b)) || repeats || repeats_before) {
          std::string reason = repeats ? fmt::format("each iteration of `{}` runs the reduction anew", b->name.view())
                               : repeats_before ? fmt::format("the reduction runs again in iterations of `{}`", a->name.view())
                                                : fmt::format("`{}` and `{}` both count spatial and reduction values", b->name.view(), a->name.view());
          return note_block(cx.error(Code::ReductionOrder).arg("loop", b->name.view()).arg("other", a->name.view()).arg("block", block.name().view()), block)
              .note(inner.origin, std::move(reason), inner.id)
              .remedy(fmt::format("keep `{}` outside of `{}`", b->name.view(), a->name.view()));
        }
      }
    }
    return ok();
  }

  static auto branch_error(const Context& cx, const FuncState& func, const Place& outer, const Place& inner) -> Diagnostic {
    Diagnostic out = note_loop(cx.error(Code::LoopNotOnlyChild).arg("loop", inner.name().view()).arg("outer", outer.name().view()), outer);
    for (const Place* block : func.child_blocks(outer)) {
      if (func.is_below(*block, inner)) { continue; }
      out.notes.push_back({block->block()->origin, fmt::format("block `{}` also runs inside `{}`", block->name().view(), outer.name().view()), block->id});
      break;
    }
    out.remedies.push_back(fmt::format("move the other statement out of `{}` first", outer.name().view()));
    return out;
  }

  static auto check_block(const Context& cx, const FuncState& func, const Place& block, const Place& top) -> Status {
    for (const IterVar& iter : block.block()->iter_vars) {
      if (iter.kind != IterKind::Spatial && iter.kind != IterKind::Reduction) {
        return note_block(cx.error(Code::BlockIterKind).arg("block", block.name().view()).arg("iter", iter.var->name.view()), block);
      }
    }
    if (func.is_affine_binding(block)) { return ok(); }
    // The binding must be affine only in the loops that move.
    if (is_affine_binding(*block.realize, loop_domains(func, block, func.parent(top)))) { return ok(); }
    return require_affine_binding(cx, func, block);
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    Outcome out;
    if (plan.chain.empty()) { return out; }
    Stmt body = plan.chain.back()->loop->body;
    for (size_t i = plan.order.size(); i-- > 0;) {
      const For& loop = *plan.order[i];
      bool is_same = &loop == plan.chain[i]->loop;
      body = with_parts(loop, {.body = std::move(body), .kind = {}, .thread = {}}, is_same ? loop.origin : cx.made_from(loop.origin));
    }
    out.func = args.ordered_loops.front().func->name();
    out.rewrite.changes.push_back({plan.chain.front()->id, std::move(body)});
    return out;
  }
};

/// Puts a loop of one iteration around a loop or block.
///
///     with T.block("B"):           ==>       for u in range(1):
///                                                with T.block("B"):
///
/// Needs  a loop, or a block other than the root block.
/// Keeps  everything.
struct AddUnitLoop {
  struct Args { PlaceArg block_or_loop; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    if (args.block_or_loop->parent < 0) { return root_block_error(cx, *args.block_or_loop.func, *args.block_or_loop); }
    return Plan{};
  }
  static auto apply(const Context& cx, const Args& args, const Plan&) -> Outcome {
    const Place& at = *args.block_or_loop;
    Origin origin = cx.made_from(at.is_loop() ? at.loop->origin : at.realize->origin);
    Ref<For> made = make<For>(loop_var("u", DataType::int_(32), origin), int_imm(0), int_imm(FAULT(unit_loop_twice) ? 2 : 1), ForKind::Serial, at.stmt(),
                              std::optional<IterVar>(), AttrMap(), origin);
    Outcome out;
    out.func = args.block_or_loop.func->name();
    out.outputs.push_back(Output::loop(made->id));
    out.rewrite.changes.push_back({at.id, Stmt(made)});
    return out;
  }
};

}  // namespace

const Primitive split = primitive<Split>("split", "Split", "makes a loop a nest of loops", {Order::Kept, Hidden::Harmless})
    .input("loop", &Split::Args::loop)
    .spliced("factors", &Split::Args::factors).of(ValueKind::OptionalInt).from(candidates::factors)
    .attr("preserve_unit_iters", &Split::Args::preserve_unit_iters, true)
    .attr("disable_predication", &Split::Args::disable_predication, false)
    .loops("loops")
    .example(examples::scale, "i, = sch.get_loops(\"B\")\nsch.split(i, factors=[None, 8])");
const Primitive fuse = primitive<Fuse>("fuse", "Fuse", "joins directly nested loops into one", {Order::Kept, Hidden::Harmless})
    .inputs("loops", &Fuse::Args::loops).from(candidates::nested_loops)
    .attr("preserve_unit_iters", &Fuse::Args::preserve_unit_iters, true)
    .loop("fused")
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nsch.fuse(i, j)");
const Primitive reorder = primitive<Reorder>("reorder", "Reorder", "changes the order of nested loops", {Order::Changed, Hidden::ReordersIterations})
    .inputs("ordered_loops", &Reorder::Args::ordered_loops).from(candidates::loop_orders)
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nsch.reorder(k, j)");
const Primitive add_unit_loop = primitive<AddUnitLoop>("add_unit_loop", "AddUnitLoop", "puts a loop of one iteration around a loop or block",
    {Order::Kept, Hidden::Harmless})
    .input("block_or_loop", &AddUnitLoop::Args::block_or_loop)
    .loop("loop")
    .example(examples::scale, "sch.add_unit_loop(\"B\")");

}  // namespace loopsmith::schedule::primitives
