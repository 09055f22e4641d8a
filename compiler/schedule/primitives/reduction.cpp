// Primitives on reductions: decompose_reduction, rfactor. They change when the accumulator is initialised and in which order partial
// results are joined, but join the same values. Source: TensorIR (ASPLOS'23).
#include <algorithm>
#include <span>
#include <unordered_set>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/access_regions.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/instances.h"
#include "schedule/facts/regions.h"
#include "schedule/func_tree.h"
#include "schedule/primitives.h"
#include "schedule/reducers.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

/// If a reduction is initialised once for all iterations of these innermost loops of its scope, an instance that runs twice would count twice. True
/// unless it is proved that none does.
auto may_run_twice(const FuncState& func, const Place& block, std::span<const Place* const> loops) -> bool {
  const BlockRealize& realize = *block.realize;
  if (std::all_of(realize.iter_values.begin(), realize.iter_values.end(), [](const Expr& e) { return e.as<VarNode>() || as_int(e); })) { return false; }
  // The maximum of a value and itself is the value: running twice does no harm.
  const auto* store = block.block()->body.as<BufferStore>();
  if (store && (store->value.kind() == NodeKind::Max || store->value.kind() == NodeKind::Min)) { return false; }
  Domains within;
  for (const Place* loop : loops) { within.emplace_back(loop->loop->var, Range{loop->loop->min, loop->loop->extent}); }
  // A proof takes microseconds; counting visits thousands of instances.
  if (tells_iterations_apart(realize.iter_values.to_vector(), within, realize.predicate)) { return false; }
  return counted_repeats(func, block, func.parent(*loops.front())).value_or(true);
}

/// A reduction over a loop around the scope (as in a part of a partitioned loop) would be initialised again in each iteration of that loop.
auto require_whole_reduction(const Context& cx, const FuncState& func, const Place& block, const Place& loop) -> Status {
  const BlockRealize& realize = *block.realize;
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (realize.block->iter_vars[i].kind != IterKind::Reduction) { continue; }
    for (const Place* outer = func.scope(block); outer; outer = func.parent(*outer)) {
      if (!outer->is_loop() || is_one(outer->loop->extent) || !uses_var(realize.iter_values[i], [&](const VarNode& v) { return &v == outer->loop->var.get(); })) { continue; }
      return note_block(note_loop(cx.error(Code::ReductionLoopOutside).arg("loop", loop.name().view()).arg("outer", outer->name().view())
                                      .arg("block", block.name().view()), *outer), block);
    }
  }
  return ok();
}

/// Moves the `T.init()` of a reduction into a separate block in front of a loop.
///
///     for i, k in T.grid(8, 4):              for i_init in range(8):
///         with T.block("C"):                     with T.block("C_init"):
///             with T.init():                         C[vi] = 0.0
///                 C[vi] = 0.0      ==>       for i, k in T.grid(8, 4):
///             C[vi] += A[vi, vk]                 with T.block("C_update"):
///                                                    C[vi] += A[vi, vk]
///
/// Needs  a reduction block; a loop around it, such that no loop outside of it feeds a reduction iter var, and
///        neither it nor a loop inside of it repeats the reduction; a predicate of the block that splits into bounds; an init that reads no
///        elements that another block below the loop writes.
/// Keeps  the order of updates, so results are equal bit for bit.
struct DecomposeReduction {
  struct Args { BlockArg block; LoopArg loop; };
  struct Plan {
    std::vector<const Place*> init_loops;    // around the init block, the outermost first
    Expr predicate;
  };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    auto loops = func.loops(*args.block);
    auto at = std::find(loops.begin(), loops.end(), args.loop.place);
    if (at == loops.end()) {
      return note_block(note_loop(cx.error(Code::LoopNotAroundBlock).arg("loop", args.loop->name().view()).arg("block", args.block->name().view()),
                                  *args.loop), *args.block);
    }
    LOOPSMITH_CHECK(require_reduction(cx, func, *args.block));
    LOOPSMITH_CHECK(require_one_begin(cx, args, loops, at));
    LOOPSMITH_CHECK(require_init_values(cx, args));
    return plan_init(cx, args, loops, at);
  }

  using Loops = std::vector<const Place*>;

  static auto feeds(const BlockArg& block, const Place& loop, IterKind kind) -> bool {
    const auto& values = block->realize->iter_values;
    for (size_t i = 0; i < values.size(); ++i) {
      if (block.block().iter_vars[i].kind == kind && uses_var(values[i], [&](const VarNode& v) { return &v == loop.loop->var.get(); })) { return true; }
    }
    return false;
  }

  static auto init_repeated(const Context& cx, const Args& args, const Place& inner, const Place& shown) -> Diagnostic {
    return note_block(note_loop(cx.error(Code::InitRepeated).arg("loop", args.loop->name().view()).arg("inner", inner.name().view())
                                    .arg("block", args.block->name().view()), shown), *args.block);
  }

  // Each element of the reduction must begin once, and its updates must all follow: `at` and the loops inside of it run after the init.
  static auto require_one_begin(const Context& cx, const Args& args, const Loops& loops, Loops::const_iterator at) -> Status {
    const FuncState& func = *args.block.func;
    const BlockRealize& realize = *args.block->realize;
    for (auto it = loops.begin(); it != at; ++it) {
      if (!feeds(args.block, **it, IterKind::Reduction)) { continue; }
      return note_block(note_loop(cx.error(Code::ReductionLoopOutside).arg("loop", args.loop->name().view()).arg("outer", (*it)->name().view())
                                      .arg("block", args.block->name().view()), **it), *args.block)
          .remedy(fmt::format("decompose at `{}` or a loop outside of it", (*it)->name().view()));
    }
    for (auto it = at; it != loops.end(); ++it) {
      if (!repeats_instances(realize, *(*it)->loop)) { continue; }
      return init_repeated(cx, args, **it, **it).remedy(fmt::format("decompose at a loop inside of `{}`", (*it)->name().view()));
    }
    for (auto it = at; it != loops.end(); ++it) { LOOPSMITH_CHECK(require_own_elements(cx, args, **it)); }
    LOOPSMITH_CHECK(require_whole_reduction(cx, func, *args.block, *args.loop));
    // The init runs once for all iterations of the loops, so no instance of the reduction may run twice.
    if (may_run_twice(func, *args.block, {at, loops.end()})) {
      // The innermost loop that shares an iter value with others.
      const Place* inner = loops.back();
      for (auto it = at; it != loops.end(); ++it) {
        auto is_this = [&](const VarNode& v) { return &v == (*it)->loop->var.get(); };
        auto shares = [&](const Expr& e) { return !e.as<VarNode>() && uses_var(e, is_this); };
        if (!is_one((*it)->loop->extent) && std::any_of(realize.iter_values.begin(), realize.iter_values.end(), shares)) { inner = *it; }
      }
      return init_repeated(cx, args, *inner, *args.loop);
    }
    return ok();
  }

  // If several iterations reduce into the same element one after another, each would begin with the result of the one before.
  static auto require_own_elements(const Context& cx, const Args& args, const Place& loop) -> Status {
    const BlockRealize& realize = *args.block->realize;
    const Block& block = args.block.block();
    const auto* store = block.body.as<BufferStore>();
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      if (iter.kind != IterKind::Spatial || is_one(iter.dom.extent) || is_one(loop.loop->extent)) { continue; }
      if (!uses_var(realize.iter_values[i], [&](const VarNode& v) { return &v == loop.loop->var.get(); })) { continue; }
      auto is_iter = [&](const VarNode& v) { return &v == iter.var.get(); };
      // Stores are exact; declared regions may be larger.
      bool tells_apart = store == nullptr || std::any_of(store->indices.begin(), store->indices.end(), [&](const Expr& e) { return uses_var(e, is_iter); });
      if (tells_apart) { continue; }
      return init_repeated(cx, args, loop, loop).remedy(fmt::format("decompose at a loop inside of `{}`", loop.name().view()));
    }
    return ok();
  }

  // The values that the init loads must exist before the loop, and must not change in it.
  static auto require_init_values(const Context& cx, const Args& args) -> Status {
    const FuncState& func = *args.block.func;
    std::vector<Buffer> begun_with;
    post_order(args.block.block().init, [](const Stmt&) {}, [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { begun_with.push_back(load->buffer); } });
    for (int i = args.loop->index + 1; !begun_with.empty() && i < args.loop->end; ++i) {
      const Place& other = func.places()[static_cast<size_t>(i)];
      if (!other.is_block() || other.index == args.block->index) { continue; }
      for (const BufferRegion& write : other.block()->writes) {
        bool is_read = std::any_of(begun_with.begin(), begun_with.end(), [&](const Buffer& buffer) { return buffer->data == write.buffer->data; });
        if (!is_read) { continue; }
        return note_block(note_loop(cx.error(Code::InitReads).arg("block", args.block->name().view()).arg("loop", args.loop->name().view())
                                        .arg("buffer", write.buffer->name.view()).arg("other", other.name().view()), *args.loop), other);
      }
    }
    return ok();
  }

  // The loops around the init block, and its predicate.
  static auto plan_init(const Context& cx, const Args& args, const Loops& loops, Loops::const_iterator at) -> Result<Plan> {
    const BlockRealize& realize = *args.block->realize;
    Plan plan;
    VarMap first;                            // the first values of loops that the init does not copy
    arith::Analyzer analyzer;
    for (auto it = loops.begin(); it != loops.end(); ++it) {
      if (it < at || feeds(args.block, **it, IterKind::Spatial)) {
        if (it >= at) { plan.init_loops.push_back(*it); }
        analyzer.bind((*it)->loop->var, Range{(*it)->loop->min, (*it)->loop->extent});
      } else {
        first.emplace((*it)->loop->var.get(), (*it)->loop->min);
      }
    }
    // An element is initialised where its first instance would run.
    plan.predicate = bool_imm(true);
    if (!is_one(realize.predicate) && !FAULT(decompose_predicate_lost)) {
      Expr rest = realize.predicate;
      std::vector<Expr> bounds;
      while (const And* both = rest.as<And>()) {
        bounds.push_back(both->b);
        rest = both->a;
      }
      bounds.push_back(rest);
      for (const Expr& bound : bounds) {
        const LT* less_than = bound.as<LT>();
        if (!less_than) { return note_block(cx.error(Code::PredicateForm).arg("block", args.block->name().view()).arg("predicate", print_script(realize.predicate)), *args.block); }
        Expr there = substitute(bound, first);
        if (there.same_as(bound)) {
          plan.predicate = logical_and(plan.predicate, bound);
        } else if (!analyzer.can_prove(there)) {
          plan.predicate = logical_and(plan.predicate, analyzer.simplify(there));
        }
      }
    }
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const BlockRealize& realize = *args.block->realize;
    const Block& block = args.block.block();
    Origin block_origin = cx.made_from(block.origin);

    Block::Fields init;
    init.name = Name(block.name.str() + "_init");
    init.annotations = block.annotations;
    std::vector<IterVar> iter_vars;
    std::vector<Expr> iter_values;
    VarMap block_vars;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      if (iter.kind != IterKind::Spatial) { continue; }
      IterVar copy = iter;
      copy.var = make<VarNode>(iter.var->name, iter.var->dtype, iter.var->origin);
      block_vars[iter.var.get()] = copy.var;
      iter_vars.push_back(std::move(copy));
      iter_values.push_back(realize.iter_values[i]);
    }
    init.iter_vars = std::move(iter_vars);
    init.body = substitute(block.init, block_vars);
    std::vector<BufferRegion> writes;
    for (const BufferRegion& write : block.writes) {
      std::vector<Range> region;
      for (const Range& range : write.region) { region.push_back(substitute(range, block_vars)); }
      writes.push_back({write.buffer, Array<Range>(std::move(region)), write.origin});
    }
    init.writes = std::move(writes);
    // The init may load elements of other buffers.
    std::vector<Buffer> known;
    for (const BufferRegion& read : block.reads) { known.push_back(read.buffer); }
    const Array<BufferRegion> begun_with(find_access_regions(*make<Block>(init), known).reads);
    init.reads = begun_with;
    Ref<Block> init_block = make<Block>(std::move(init), block_origin);
    Stmt nest = make<BlockRealize>(Array<Expr>(std::move(iter_values)), plan.predicate, init_block, cx.made_from(realize.origin));
    VarMap loop_vars;
    for (auto it = plan.init_loops.rbegin(); it != plan.init_loops.rend(); ++it) {
      const For& loop = *(*it)->loop;
      Var var = make<VarNode>(Name(loop.var->name.str() + "_init"), loop.var->dtype, loop.var->origin);
      loop_vars[loop.var.get()] = var;
      std::optional<IterVar> thread = loop.thread;
      if (thread) { thread->var = make<VarNode>(thread->var->name, thread->var->dtype, thread->var->origin); }
      nest = make<For>(var, loop.min, FAULT(decompose_init_short) ? one(loop.extent.dtype()) : loop.extent, loop.for_kind, std::move(nest), std::move(thread), AttrMap(), cx.made_from(loop.origin));
    }
    nest = substitute(nest, loop_vars);

    auto update = block.fields();
    update.name = Name(block.name.str() + "_update");
    update.init = {};
    // The accumulator is now a declared read; before, the init made this unnecessary.
    std::vector<BufferRegion> reads;
    for (const BufferRegion& write : block.writes) {
      bool is_read = std::any_of(block.reads.begin(), block.reads.end(), [&](const BufferRegion& read) { return read.buffer == write.buffer; });
      if (!is_read) { reads.push_back(write); }
    }
    for (const BufferRegion& read : block.reads) {
      bool is_read = !region_of(begun_with, read.buffer);
      post_order(block.body, [](const Stmt&) {}, [&](const Expr& e) {
        const auto* load = e.as<BufferLoad>();
        is_read = is_read || (load && load->buffer == read.buffer);
      });
      if (is_read) { reads.push_back(read); }
    }
    update.reads = std::move(reads);

    Outcome out;
    out.func = args.block.func->name();
    out.rewrite.changes.push_back({args.block->id, make<Block>(std::move(update), block_origin, args.block->id)});
    if (FAULT(decompose_init_moved)) { out.rewrite.inserts.push_back({args.loop->id, 0, std::move(nest)}); } else { out.rewrite.befores.push_back({args.loop->id, std::move(nest)}); }
    out.outputs.push_back(Output::block(init_block->id));
    return out;
  }
};

/// Makes the iterations of a reduction's loop independent: they store partial results in a buffer with one more dimension, and
/// a second reduction joins these.
///
///     for i, k in T.grid(8, 4):              for i, k in T.grid(8, 4):
///         with T.block("C"):                     with T.block("C_rf"):
///             with T.init():                         C_rf[k, i] = A[i, k]
///                 C[vi] = 0.0      ==>       for i, k in T.grid(8, 4):
///             C[vi] += A[vi, vk]                 with T.block("C"):
///                                                    with T.init():
///                                                        C[vi] = 0.0
///                                                    C[vi] += C_rf[vk, vi]
///
/// Needs  a stage pipeline; a serial loop with one block below, a reduction with a known commutative combiner (sum, product,
///        min, max, pairs of sums, argmin, argmax); no spatial iter var that the loop feeds; no loop that feeds both kinds;
///        a predicate that excludes a partial result completely if it excludes the first instance of it.
/// Keeps  the accumulated values, in another order (of equal values, argmin and argmax may find another one).
struct RFactor {
  struct Args { LoopArg loop; int64_t factor_axis = 0; };
  struct Plan {
    const Place* block;
    const Place* scope;
    std::vector<const Place*> loops;
    Updates updates;
    Reducer reducer;
    std::vector<Expr> lhs, rhs;
    size_t axis;
    Expr predicate;                          // of the block that joins partial results
  };

  static auto feeds(const BlockRealize& realize, const VarNode* var, IterKind kind) -> bool {
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      bool is_kind = (realize.block->iter_vars[i].kind == IterKind::Spatial) == (kind == IterKind::Spatial);
      if (is_kind && uses_var(realize.iter_values[i], [&](const VarNode& v) { return &v == var; })) { return true; }
    }
    return false;
  }

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.loop.func;
    auto below = func.child_blocks(*args.loop);
    if (below.size() != 1) {
      return note_loop(cx.error(Code::NotOneBlock).arg("loop", args.loop->name().view()).arg("count", static_cast<int64_t>(below.size())), *args.loop);
    }
    const Place& block = *below.front();
    const Place& scope = *func.scope(block);
    LOOPSMITH_CHECK(require_stage_pipeline(cx, func, scope));
    LOOPSMITH_CHECK(require_reduction(cx, func, block));
    LOOPSMITH_CHECK(require_whole_reduction(cx, func, block, *args.loop));
    if (args.loop.loop().for_kind != ForKind::Serial) { return note_loop(cx.error(Code::LoopNotSerial).arg("loop", args.loop->name().view()), *args.loop); }
    LOOPSMITH_CHECK(require_starts_at_zero(cx, args.loop));
    Plan plan{&block, &scope, func.loops(block), {}, {}, {}, {}, 0, {}};
    LOOPSMITH_CHECK(require_factorable_loops(cx, args, plan));
    // Partial results are used outside of the loops around them, so iterations that run at the same time must not have separate partial results.
    LOOPSMITH_CHECK(require_one_sum(cx, func, block, nullptr));
    for (const BufferRegion& write : block.block()->writes) { LOOPSMITH_CHECK(require_one_buffer(cx, func, block, scope, write.buffer)); }
    LOOPSMITH_TRY(predicate, predicate_of_join(cx, args, plan));
    plan.predicate = std::move(predicate);
    LOOPSMITH_CHECK(require_own_loops(cx, func, plan));
    auto updates = find_updates(*block.block());
    if (!updates) { return note_block(cx.error(Code::ReductionForm).arg("block", block.name().view()), block); }
    auto matched = match_reducer(*updates);
    if (!matched) { return note_block(cx.error(Code::ReducerUnknown).arg("block", block.name().view()), block); }
    plan.updates = std::move(*updates);
    plan.reducer = std::move(matched->reducer);
    plan.lhs = std::move(matched->lhs);
    plan.rhs = std::move(matched->rhs);
    int64_t dimensions = static_cast<int64_t>(plan.updates.stores[0]->buffer->shape.size());
    if (args.factor_axis < -(dimensions + 1) || args.factor_axis > dimensions) {
      return cx.error(Code::AxisOutOfRange).arg("axis", args.factor_axis).arg("buffer", plan.updates.stores[0]->buffer->name.view()).arg("count", dimensions)
          .remedy(fmt::format("give an axis from {} to {}", -dimensions - 1, dimensions));
    }
    plan.axis = static_cast<size_t>(args.factor_axis < 0 ? args.factor_axis + dimensions + 1 : args.factor_axis);
    return plan;
  }

  // Each loop must feed spatial iter vars only, or reduction iter vars only, and no instance may run twice.
  static auto require_factorable_loops(const Context& cx, const Args& args, const Plan& plan) -> Status {
    const FuncState& func = *args.loop.func;
    const Place& block = *plan.block;
    auto wrong = [&](const Place& loop, const Reason& why) {
      return note_block(note_loop(cx.error(Code::RFactorLoop).arg("loop", loop.name().view()).arg("reason", why.text()), loop), block);
    };
    if (func.child_blocks(*plan.loops.front()).front() != &block) { return wrong(*plan.loops.front(), because(Why::OtherBlockFirst)); }
    bool met_reduction = false;
    for (const Place* loop : plan.loops) {
      const VarNode* var = loop->loop->var.get();
      bool spatial = feeds(*block.realize, var, IterKind::Spatial);
      bool reduction = feeds(*block.realize, var, IterKind::Reduction);
      if (spatial && reduction) { return wrong(*loop, because(Why::FeedsBothKinds)); }
      if (spatial) {
        if (loop == args.loop.place) { return wrong(*loop, because(Why::FeedsSpatial)); }
      } else if (reduction) {
        if (!met_reduction && func.child_blocks(*loop).size() != 1) { return wrong(*loop, because(Why::SeveralBlocksBelow)); }
        met_reduction = true;
      } else if (met_reduction && !is_one(loop->loop->extent)) {
        return wrong(*loop, because(Why::FeedsNothing));
      }
    }
    // Equal partial results would count several times.
    if (!feeds(*block.realize, args.loop.loop().var.get(), IterKind::Reduction) && !is_one(args.loop.loop().extent)) { return wrong(*args.loop, because(Why::FeedsNoReduction)); }
    for (const Place* loop : plan.loops) {
      if (feeds(*block.realize, loop->loop->var.get(), IterKind::Reduction) && repeats_instances(*block.realize, *loop->loop)) {
        return wrong(*loop, because(Why::RepeatsReduction)).remedy("fuse the loop that runs it again with no other");
      }
    }
    auto first_sum = std::find_if(plan.loops.begin(), plan.loops.end(), [&](const Place* loop) { return feeds(*block.realize, loop->loop->var.get(), IterKind::Reduction); });
    if (first_sum != plan.loops.end() && may_run_twice(func, block, {first_sum, plan.loops.end()})) {
      return wrong(*args.loop, because(Why::MayRepeatReduction)).remedy("fuse the loop that runs it again with no other");
    }
    return ok();
  }

  // The first instance of each partial result must initialise it. If this instance is not proved to run, that part of the
  // predicate is copied to the block that joins the partial results.
  static auto predicate_of_join(const Context& cx, const Args& args, const Plan& plan) -> Result<Expr> {
    const Place& block = *plan.block;
    Expr out = bool_imm(true);
    if (is_one(block.realize->predicate) || FAULT(rfactor_predicate_ignored)) { return out; }
    arith::Analyzer analyzer;
    VarMap first;
    for (const Place* loop : plan.loops) {
      analyzer.bind(loop->loop->var, Range{loop->loop->min, loop->loop->extent});
      if (loop != args.loop.place && feeds(*block.realize, loop->loop->var.get(), IterKind::Reduction)) { first[loop->loop->var.get()] = loop->loop->min; }
    }
    for (const Expr& bound : arith::split_conjunction(block.realize->predicate)) {
      Expr there = substitute(bound, first);
      if (analyzer.can_prove(there)) { continue; }
      const auto* less_than = bound.as<LT>();
      const auto* at_first = there.as<LT>();
      // If an extent was rounded up, the last iteration has a tighter bound.
      const For& loop = args.loop.loop();
      const Expr of_one = one(loop.extent.dtype());
      auto at = [&](const Expr& iteration) { return substitute(there, {{loop.var.get(), iteration}}); };
      auto grows = [&](const Expr& from, const Expr& to) { return analyzer.can_prove(less_equal(from, to)); };
      if (at_first) {
        Expr next = at(Expr(loop.var) + of_one);
        if (grows(at_first->a, next.as<LT>()->a) && grows(next.as<LT>()->b, at_first->b) && analyzer.can_prove(at(loop.extent - of_one))) { continue; }
      }
      // If the first instance does not run, no later one may run.
      bool first_runs = there.same_as(bound) || (less_than && at_first && analyzer.can_prove(less_equal(at_first->a, less_than->a)) && analyzer.can_prove(less_equal(less_than->b, at_first->b)));
      if (!first_runs) {
        return note_block(cx.error(Code::PartialResults).arg("block", block.name().view()), block)
            .remedy("split the loop so that the factors divide its extent");
      }
      out = logical_and(out, analyzer.simplify(there));
    }
    return out;
  }

  // A part of a partitioned loop may use loops outside of its scope; the new blocks could not.
  static auto require_own_loops(const Context& cx, const FuncState& func, const Plan& plan) -> Status {
    const Place& block = *plan.block;
    for (const Expr& value : block.realize->iter_values) {
      const VarNode* outer = nullptr;
      auto is_outside = [&](const VarNode& v) {
        bool is_own = std::any_of(plan.loops.begin(), plan.loops.end(), [&](const Place* l) { return l->loop->var.get() == &v; });
        return !is_own && !v.dtype.is_handle() && !is_known_at(func, &func.root(), v) && (outer = &v, true);
      };
      if (uses_var(value, is_outside)) {
        return note_block(cx.error(Code::OuterVariable).arg("block", block.name().view()).arg("variable", outer->name.view()), block);
      }
    }
    return ok();
  }

  template <class T>
  static auto inserted(const Array<T>& items, size_t at, T item) -> Array<T> {
    std::vector<T> out = items.to_vector();
    out.insert(out.begin() + static_cast<ptrdiff_t>(at), std::move(item));
    return Array<T>(std::move(out));
  }

  // A block that stores combinations of lhs and rhs, or rhs alone if nothing is accumulated.
  static auto make_body(const Plan& plan, const std::vector<Buffer>& buffers, const Array<Expr>& indices, const std::vector<Expr>& lhs,
                        const std::vector<Expr>& rhs, bool accumulates, Origin origin, Stmt& init) -> Stmt {
    std::vector<Stmt> stores;
    size_t count = buffers.size();
    if (!accumulates) {
      for (size_t i = 0; i < count; ++i) { stores.push_back(make<BufferStore>(buffers[i], rhs[i], indices, origin)); }
      return seq(std::move(stores), origin);
    }
    VarMap map;
    for (size_t i = 0; i < count; ++i) {
      map[plan.reducer.lhs[i].get()] = lhs[i];
      map[plan.reducer.rhs[i].get()] = rhs[i];
    }
    std::vector<Stmt> inits;
    for (size_t i = 0; i < count; ++i) { inits.push_back(make<BufferStore>(buffers[i], plan.reducer.identity[i], indices, origin)); }
    init = seq(std::move(inits), origin);
    std::vector<Expr> values;
    for (size_t i = 0; i < count; ++i) { values.push_back(substitute(plan.reducer.result[i], map)); }
    if (count == 1) { return make<BufferStore>(buffers[0], values[0], indices, origin); }
    std::vector<Var> lets;
    for (size_t i = 0; i < count; ++i) {
      lets.push_back(make<VarNode>(Name("v_" + buffers[i]->name.str()), values[i].dtype(), origin));
      stores.push_back(make<BufferStore>(buffers[i], Expr(lets[i]), indices, origin));
    }
    Stmt body = seq(std::move(stores), origin);
    for (size_t i = count; i-- > 0;) { body = make<LetStmt>(lets[i], values[i], std::move(body), origin); }
    return body;
  }

  static auto iter_of_loop(const For& loop, IterKind kind, Origin origin) -> IterVar {
    IterVar iter;
    iter.var = make<VarNode>(Name("v" + loop.var->name.str()), loop.var->dtype, origin);
    iter.dom = {loop.min, loop.extent};
    iter.kind = kind;
    iter.origin = origin;
    return iter;
  }

  /// The buffers of partial results: those of the reduction with one more dimension.
  static auto partial_buffers(const Plan& plan, const For& factored) -> std::vector<Buffer> {
    std::vector<Buffer> buffers;
    for (const BufferStore* store : plan.updates.stores) {
      BufferNode fields = *store->buffer;
      fields.shape = inserted(fields.shape, plan.axis, factored.extent);
      fields.name = Name(fields.name.str() + ".rf");
      fields.data = make<VarNode>(Name(store->buffer->data->name.str() + ".rf"), DataType::handle(), store->buffer->data->origin, store->buffer->data->pointer);
      buffers.push_back(make_buffer(std::move(fields)));
    }
    return buffers;
  }

  /// The iter vars of the block of partial results, and their bindings.
  struct PartialIters {
    IterVar factored;           // the iter var of the factored loop
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    VarMap old_vars;            // iter vars of the reduction that are replaced, each by an expression of the new ones
  };
  /// The iter var of the factored loop is spatial, and each loop that feeds a reduction iter var together with it gets a reduction iter var of its own.
  static auto partial_iters(const Plan& plan, const For& factored, Origin origin) -> PartialIters {
    const BlockRealize& realize = *plan.block->realize;
    const Block& block = *plan.block->block();
    PartialIters out;
    out.factored = iter_of_loop(factored, IterKind::Spatial, origin);
    VarMap loop_to_iter;
    loop_to_iter[factored.var.get()] = out.factored.var;
    out.iters.push_back(out.factored);
    out.values.push_back(factored.var);
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      const Expr& value = realize.iter_values[i];
      if (iter.kind == IterKind::Spatial || !uses_var(value, [&](const VarNode& v) { return &v == factored.var.get(); })) {
        out.iters.push_back(iter);
        out.values.push_back(value);
        continue;
      }
      post_order(value, [&](const Expr& e) {
        const VarNode* var = e.as<VarNode>();
        if (!var || loop_to_iter.count(var)) { return; }
        for (const Place* loop : plan.loops) {
          if (loop->loop->var.get() != var) { continue; }
          IterVar made = iter_of_loop(*loop->loop, IterKind::Reduction, origin);
          loop_to_iter[var] = made.var;
          out.iters.push_back(made);
          out.values.push_back(e);
        }
      });
      out.old_vars[iter.var.get()] = FAULT(rfactor_wrong_index) ? Expr(out.factored.var) : substitute(value, loop_to_iter);
    }
    return out;
  }

  /// The nest that computes partial results, one for each iteration of the factored loop.
  struct Partial {
    std::vector<Buffer> buffers;
    std::vector<Expr> loads;    // loads from the buffers, of the element that an instance of `block` computes
    IterVar factored;           // the iter var of `block` that has the value of the factored loop
    Ref<Block> block;
    Stmt nest;
  };
  static auto make_partial(const Context& cx, const Plan& plan, const For& factored, Origin origin) -> Partial {
    const Block& block = *plan.block->block();
    PartialIters iters = partial_iters(plan, factored, origin);
    Partial out{.buffers = partial_buffers(plan, factored), .loads = {}, .factored = iters.factored, .block = {}, .nest = {}};
    Array<Expr> indices = inserted(plan.updates.stores[0]->indices, plan.axis, Expr(out.factored.var));
    for (const Buffer& buffer : out.buffers) { out.loads.push_back(make<BufferLoad>(buffer, indices, origin)); }
    const bool accumulates = std::any_of(iters.iters.begin(), iters.iters.end(), [](const IterVar& i) { return i.kind == IterKind::Reduction; });
    Block::Fields fields;
    Stmt init;
    Stmt body = make_body(plan, out.buffers, indices, out.loads, plan.rhs, accumulates, origin, init);
    fields.name = Name(block.name.str() + "_rf");
    fields.iter_vars = iters.iters;
    fields.body = substitute(body, iters.old_vars);
    if (init) { fields.init = substitute(init, iters.old_vars); }
    auto substitute_all = [&](const Array<Range>& region) {
      std::vector<Range> ranges;
      for (const Range& range : region) { ranges.push_back(substitute(range, iters.old_vars)); }
      return ranges;
    };
    std::vector<BufferRegion> reads, writes;
    for (const BufferRegion& read : block.reads) { reads.push_back({read.buffer, substitute_all(read.region), read.origin}); }
    for (const BufferRegion& write : block.writes) {
      for (size_t i = 0; i < out.buffers.size(); ++i) {
        if (!(plan.updates.stores[i]->buffer == write.buffer)) { continue; }
        writes.push_back({out.buffers[i], substitute_all(inserted(write.region, plan.axis, point(out.factored.var))), write.origin});
        break;
      }
    }
    fields.reads = std::move(reads);
    fields.writes = std::move(writes);
    fields.annotations = block.annotations;
    out.block = make<Block>(std::move(fields), origin);
    out.nest = loops_around(cx, plan, out.block, std::move(iters.values));
    return out;
  }

  /// The block in copies of the loops around the reduction.
  static auto loops_around(const Context& cx, const Plan& plan, const Ref<Block>& block, std::vector<Expr> values) -> Stmt {
    const BlockRealize& realize = *plan.block->realize;
    VarMap copies;
    for (const Place* loop : plan.loops) {
      copies[loop->loop->var.get()] = make<VarNode>(loop->loop->var->name, loop->loop->var->dtype, loop->loop->var->origin);
    }
    for (Expr& value : values) { value = substitute(value, copies); }
    Stmt nest = make<BlockRealize>(Array<Expr>(std::move(values)), substitute(realize.predicate, copies), block, cx.made_from(realize.origin));
    for (auto it = plan.loops.rbegin(); it != plan.loops.rend(); ++it) {
      const For& loop = *(*it)->loop;
      nest = make<For>(copies[loop.var.get()].ref<VarNode>(), substitute(loop.min, copies), substitute(loop.extent, copies), loop.for_kind, std::move(nest), loop.thread,
                       loop.annotations, cx.made_from(loop.origin));
    }
    return nest;
  }

  /// The block that joins the partial results; it takes the place of the reduction's block.
  static auto make_joining(const Context& cx, const Plan& plan, const For& factored, const Partial& partial, Origin origin) -> Stmt {
    const BlockRealize& realize = *plan.block->realize;
    const Block& block = *plan.block->block();
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    VarMap map;
    IterVar joined = iter_of_loop(factored, IterKind::Reduction, origin);
    iters.push_back(joined);
    values.push_back(factored.var);
    map[partial.factored.var.get()] = joined.var;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].kind != IterKind::Spatial) { continue; }
      IterVar iter = block.iter_vars[i];
      iter.var = make<VarNode>(iter.var->name, iter.var->dtype, iter.var->origin);
      map[block.iter_vars[i].var.get()] = iter.var;
      iters.push_back(std::move(iter));
      values.push_back(realize.iter_values[i]);
    }
    std::vector<Buffer> buffers;
    std::vector<Expr> lhs, rhs;
    for (size_t i = 0; i < partial.buffers.size(); ++i) {
      buffers.push_back(plan.updates.stores[i]->buffer);
      lhs.push_back(substitute(plan.lhs[i], map));
      rhs.push_back(substitute(partial.loads[i], map));
    }
    Block::Fields fields;
    Stmt init;
    Stmt body = make_body(plan, buffers, plan.updates.stores[0]->indices, lhs, rhs, true, origin, init);
    fields.name = block.name;
    fields.iter_vars = std::move(iters);
    fields.body = substitute(body, map);
    fields.init = substitute(init, map);
    auto regions = [](const std::vector<Expr>& loads) {
      std::vector<BufferRegion> out;
      for (const Expr& e : loads) {
        const auto& load = *e.as<BufferLoad>();
        std::vector<Range> region;
        for (const Expr& index : load.indices) { region.push_back(point(index)); }
        out.push_back({load.buffer, Array<Range>(std::move(region)), load.origin});
      }
      return Array<BufferRegion>(std::move(out));
    };
    fields.reads = regions(rhs);
    fields.writes = regions(lhs);
    fields.annotations = block.annotations;
    return make<BlockRealize>(Array<Expr>(std::move(values)), plan.predicate, make<Block>(std::move(fields), origin, block.id), cx.made_from(realize.origin));
  }

  /// The old nest with the joining block in it. From the loops that fed reduction iter vars only the factored loop stays.
  static auto rebuilt(const Args& args, const Plan& plan, const Stmt& joining, const Stmt& stmt) -> Stmt {
    const BlockRealize& realize = *plan.block->realize;
    if (stmt.get() == &realize) { return joining; }
    if (const auto* loop = stmt.as<For>()) {
      const Place* place = args.loop.func->find(loop->id);
      if (std::find(plan.loops.begin(), plan.loops.end(), place) == plan.loops.end()) { return stmt; }
      Stmt body = rebuilt(args, plan, joining, loop->body);
      if (place != args.loop.place && feeds(realize, loop->var.get(), IterKind::Reduction)) { return body; }
      return with_parts(*loop, {.body = std::move(body), .kind = {}, .thread = {}}, loop->origin);
    }
    if (const auto* all = stmt.as<SeqStmt>()) {
      std::vector<Stmt> items;
      for (const Stmt& item : all->seq) { items.push_back(rebuilt(args, plan, joining, item)); }
      return seq(std::move(items), all->origin);
    }
    return stmt;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const For& factored = args.loop.loop();
    Origin origin = cx.made_from(plan.block->block()->origin);
    Partial partial = make_partial(cx, plan, factored, origin);
    Stmt joining = make_joining(cx, plan, factored, partial, origin);
    const Place& outermost = *plan.loops.front();
    Outcome out;
    out.func = args.loop.func->name();
    out.rewrite.changes.push_back({outermost.id, seq({std::move(partial.nest), rebuilt(args, plan, joining, outermost.stmt())}, cx.made_from(outermost.loop->origin))});
    for (const Buffer& buffer : partial.buffers) { out.rewrite.allocs.push_back({plan.scope->id, buffer, {}}); }
    out.outputs.push_back(Output::block(partial.block->id));
    return out;
  }
};

}  // namespace

const Primitive rfactor = primitive<RFactor>("rfactor", "RFactor", "makes the iterations of a reduction's loop independent",
    {Order::Changed, Hidden::MovesBlock | Hidden::GathersBelow | Hidden::StaysInLoops})
    .moves_work()
    .input("loop", &RFactor::Args::loop)
    .attr("factor_axis", &RFactor::Args::factor_axis).from(candidates::write_axes)
    .block("partial")
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nk0, k1 = sch.split(k, factors=[None, 8])\nsch.rfactor(k1, factor_axis=0)");
const Primitive decompose_reduction = primitive<DecomposeReduction>("decompose_reduction", "DecomposeReduction", "takes the init of a reduction out into a block of its own",
    {Order::Changed, Hidden::MovesBlock | Hidden::GathersBelow | Hidden::StaysInLoops})
    .moves_work()
    .input("block", &DecomposeReduction::Args::block)
    .input("loop", &DecomposeReduction::Args::loop).from(candidates::loops_around)
    .block("init")
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nsch.decompose_reduction(\"C\", k)");

}  // namespace loopsmith::schedule::primitives
