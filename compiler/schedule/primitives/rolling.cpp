// rolling_buffer: if each iteration of a loop needs only a window of a buffer, keeps only the window; each iteration computes only
// the elements that the iteration before did not compute.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/access_regions.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/counted_races.h"
#include "schedule/examples.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/predicates.h"
#include "schedule/facts/regions.h"
#include "schedule/facts/writes.h"
#include "schedule/func_tree.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

/// Shrinks a buffer to the window that an iteration of a loop needs, used as a ring. Elements that the iteration before computed
/// are kept.
///
///     for i in range(8):                           for i in range(8):
///         for k in range(3):                           for k in range(3):
///             B[i + k] = A[i + k]        ==>               if i < 1 or k >= 2: B[(i + k) % 3] = A[i + k]
///         C[i] = B[i] + B[i + 1] + B[i + 2]            C[i] = B[i % 3] + B[(i + 1) % 3] + B[(i + 2) % 3]
///
/// Needs  a buffer that its scope allocates and one block writes, each dimension by a separate iter var, with a predicate that only keeps these in
///        their domains; a loop around the block and all readers; windows that begin at a multiple of a loop variable, overlap,
///        and do not grow along other dimensions; loops that run in order; reads of no element that only later iterations write; no buffer that
///        is private to iterations running at the same time and is written by a block with an iter var that becomes opaque.
/// Keeps  results bit for bit.
struct RollingBuffer {
  struct Args { BlockArg block; int64_t write_buffer_index = 0; };
  struct Plan {
    const Place* scope;
    Buffer from, to;
    size_t axis;
    int64_t window;
    std::vector<Var> rolled;                  // the loop along each dimension in which its windows overlap
    std::vector<int64_t> overlaps;
  };

  /// The call while it is checked: its block and buffer, and the loop around the block and all its consumers.
  struct Call {
    const Context& cx;
    const FuncState& func;
    const Place& place;                       // the block
    const Place& scope;
    BufferRegion write;
    const Place* common = nullptr;
    [[nodiscard]] auto refuse(const Reason& why) const -> Diagnostic { return note_block(cx.error(Code::RollingForm).arg("buffer", write.buffer->name.view()).arg("reason", why.text()), place); }
    /// The region of an access while the loops between a block and the common loop run.
    [[nodiscard]] auto relaxed(const Place& of, const BufferRegion& region) const -> std::vector<Range> {
      arith::DomMap below;
      for (const Place* at = func.parent(of); at != common; at = func.parent(*at)) {
        below.emplace(at->loop->var.get(), arith::IntSet::from_range(Range{at->loop->min, at->loop->extent}));
      }
      VarMap map = bindings_of(*of.realize);
      std::vector<Range> out;
      for (size_t i = 0; i < region.region.size(); ++i) {
        out.push_back(arith::eval_set(substitute(region.region[i], map), below).cover_range(from_zero(region.buffer->shape[i])));
      }
      return out;
    }
  };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& place = *args.block;
    const Block& block = *place.block();
    LOOPSMITH_TRY(write, require_buffer(cx, place, args.write_buffer_index, true));
    const Buffer& buffer = write.buffer;
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    Call call{cx, func, place, *scope, write};
    if (is_output_block(func, place, *scope)) {
      return note_block(cx.error(Code::OutputBlock).arg("block", block.name.view()).arg("buffer", buffer->name.view()), place);
    }
    LOOPSMITH_TRY(writer, require_single_writer(cx, func, *scope, buffer));
    if (writer != &place || region_of(block.reads, buffer)) { return call.refuse(because(Why::BlockReadsOwn)); }
    if (!is_one(place.realize->predicate) && !keeps_domains(func, place)) { return call.refuse(because(Why::PredicateLeavesOut)); }
    LOOPSMITH_CHECK(find_common_loop(call));
    std::vector<Range> window = call.relaxed(place, write);
    Plan plan{scope, buffer, {}, 0, 0, {}, {}};
    LOOPSMITH_CHECK(find_rolled_loops(call, window, plan));
    LOOPSMITH_CHECK(require_filled_window(call, window));
    arith::Analyzer analyzer;
    for (const Place* at = call.common; at && at->is_loop(); at = func.parent(*at)) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
    LOOPSMITH_CHECK(require_kept_elements(call, window, plan, analyzer));
    if (auto why = reads_unfinished(func, place, *scope, *call.common, plan)) { return call.refuse(*why); }
    LOOPSMITH_CHECK(require_rollable_form(call, plan));
    LOOPSMITH_CHECK(require_reads_in_window(call, window, plan, analyzer));
    LOOPSMITH_CHECK(require_opaque_allowed(call, plan));
    BufferNode fields = *buffer;
    std::vector<Expr> shape = buffer->shape.to_vector();
    shape[plan.axis] = cast(shape[plan.axis].dtype(), window[plan.axis].extent);
    fields.shape = std::move(shape);
    plan.to = make_buffer(std::move(fields));
    return plan;
  }

  /// Finds the innermost loop around the block and all its consumers. No block outside of this loop may read the buffer.
  static auto find_common_loop(Call& call) -> Status {
    const FuncState& func = call.func;
    std::vector<NodeId> consumers = consumers_of(func, call.place);
    const Place* common = func.parent(call.place);
    auto is_above_all = [&](const Place& at) {
      return std::all_of(consumers.begin(), consumers.end(), [&](NodeId id) { return func.is_below(*func.find(id), at); });
    };
    while (common->is_loop() && !is_above_all(*common)) { common = func.parent(*common); }
    if (!common->is_loop() || consumers.empty()) { return call.refuse(because(Why::NoCommonLoop)).remedy("move the block under a loop of its consumer first: `sch.compute_at(...)`"); }
    for (const Place* child : func.blocks_mentioning(call.scope, call.write.buffer)) {
      bool reads = region_of(child->block()->reads, call.write.buffer) != nullptr;
      if (reads && !func.is_below(*child, *common)) { return call.refuse(because(Why::ReadOutsideLoop).arg("block", child->name().view()).arg("loop", common->name().view())); }
      if (child->end != child->index + 1 && (reads || child == &call.place)) { return call.refuse(because(Why::HoldsBlocks).arg("block", child->name().view())); }
    }
    call.common = common;
    return ok();
  }

  /// Finds the loop and the overlap of windows along each dimension, and the axis along which the buffer rolls.
  static auto find_rolled_loops(const Call& call, const std::vector<Range>& window, Plan& plan) -> Status {
    std::vector<const Place*> loops = call.func.loops(call.place);
    Var rolled;
    int64_t stride = 0;
    for (Range bound : window) {
      int64_t divisor = 1;
      if (const auto* quotient = bound.min.as<FloorDiv>()) {
        auto by = as_int(quotient->b);
        if (!by || *by <= 0) { return call.refuse(because(Why::NoWindows)); }
        divisor = *by;
        bound.min = quotient->a;
      }
      if (bound.min.as<IntImm>()) {
        rolled = {};
      } else if (auto var = bound.min.ref<VarNode>()) {
        rolled = var;
        stride = 1;
      } else {
        const auto* product = bound.min.as<Mul>();
        auto factor = product ? as_int(product->b) : std::nullopt;
        if (!product || !product->a.as<VarNode>() || !factor || *factor <= 0) { return call.refuse(because(Why::NoWindows)); }
        rolled = product->a.ref<VarNode>();
        stride = *factor;
      }
      // Each instance of an outer block begins with an empty buffer.
      if (rolled && std::none_of(loops.begin(), loops.end(), [&](const Place* loop) { return loop->loop->var == rolled; })) { rolled = {}; }
      stride = (stride + divisor - 1) / divisor;
      int64_t overlap = 0;
      if (rolled) {
        auto extent = as_int(bound.extent);
        if (!extent) { return call.refuse(because(Why::WindowExtent)); }
        overlap = *extent - stride;
        if (overlap <= 0) { rolled = {}; }
      }
      plan.rolled.push_back(rolled);
      plan.overlaps.push_back(overlap);
    }
    // The buffer rolls along the outermost of these loops.
    size_t axis = plan.rolled.size();
    for (const Place* loop : loops) {
      auto found = std::find_if(plan.rolled.begin(), plan.rolled.end(), [&](const Var& v) { return v && v == loop->loop->var; });
      if (found == plan.rolled.end()) { continue; }
      axis = static_cast<size_t>(found - plan.rolled.begin());
      break;
    }
    if (axis == plan.rolled.size()) { return call.refuse(because(Why::NoWindows)); }
    plan.axis = axis;
    auto extent = as_int(window[axis].extent);
    if (!extent) { return call.refuse(because(Why::WindowExtent)); }
    plan.window = *extent;
    return ok();
  }

  /// Each iteration fills its window, since the next one does not compute the common elements again.
  static auto require_filled_window(const Call& call, const std::vector<Range>& window) -> Status {
    const FuncState& func = call.func;
    std::vector<Range> ranges;
    VarMap map = bindings_of(*call.place.realize);
    for (const Range& range : call.write.region) { ranges.push_back(substitute(range, map)); }
    std::vector<std::pair<Var, Range>> inner;
    for (const Place* at = func.parent(call.place); at != call.common; at = func.parent(*at)) { inner.insert(inner.begin(), {at->loop->var, Range{at->loop->min, at->loop->extent}}); }
    arith::Analyzer fresh;
    bool is_whole = arith::estimate_region_strict_bound(Array<Range>(std::move(ranges)), inner, bool_imm(true), fresh).has_value();
    if (is_whole || certainly_writes(func, call.place, call.write, call.common, {call.write.buffer, Array<Range>(window), {}})) { return ok(); }
    return call.refuse(because(Why::WindowNotFilled).arg("loop", call.common->name().view()));
  }

  /// The iteration before has made all common elements: it ran the same loops below, with windows no smaller along the other dimensions.
  static auto require_kept_elements(const Call& call, const std::vector<Range>& window, const Plan& plan, arith::Analyzer& analyzer) -> Status {
    const FuncState& func = call.func;
    for (size_t i = 0; i < plan.rolled.size(); ++i) {
      const Var& var = plan.rolled[i];
      if (!var) { continue; }
      VarMap before{{var.get(), sub(var, one(var->dtype))}};
      arith::Analyzer::Scope later = analyzer.enter(greater_equal(var, one(var->dtype)));
      auto was_no_smaller = [&](const Range& now) {
        Range last{substitute(now.min, before), substitute(now.extent, before)};
        return analyzer.can_prove(less_equal(last.min, now.min)) && analyzer.can_prove(less_equal(now.min + now.extent, last.min + last.extent));
      };
      for (size_t d = 0; d < window.size(); ++d) {
        if (d != i && !was_no_smaller(window[d])) { return call.refuse(because(Why::WindowGrows).arg("loop", var->name.view()).arg("dimension", d)); }
      }
      for (const Place* at = call.common; at && at->is_loop() && at->loop->var != var; at = func.parent(*at)) {
        if (always_runs(func, *at) && was_no_smaller({at->loop->min, at->loop->extent})) { continue; }
        return note_loop(call.refuse(because(Why::LoopGrows).arg("loop", var->name.view()).arg("inner", at->name().view())), *at);
      }
    }
    return ok();
  }

  /// The rewrite can express the indices: a separate iter var writes each rolled dimension, and its loops run in order from 0.
  static auto require_rollable_form(const Call& call, const Plan& plan) -> Status {
    const FuncState& func = call.func;
    const Block& block = *call.place.block();
    for (size_t i = 0; i < call.write.region.size(); ++i) {
      if (!plan.rolled[i] && i != plan.axis) { continue; }
      if (i >= block.iter_vars.size() || call.write.region[i].min.get() != block.iter_vars[i].var.get() || !is_one(call.write.region[i].extent)) {
        return call.refuse(because(Why::DimensionOfOtherIter).arg("dimension", i).arg("iter", i));
      }
    }
    for (const Place* at = func.parent(call.place); at && at->is_loop(); at = func.parent(*at)) {
      bool is_rolled = std::any_of(plan.rolled.begin(), plan.rolled.end(), [&](const Var& v) { return v && v == at->loop->var; });
      if (!is_rolled) { continue; }
      if ((at->loop->for_kind != ForKind::Serial && at->loop->for_kind != ForKind::Unrolled) || !is_zero(at->loop->min)) {
        return note_loop(call.refuse(because(Why::NotInOrder).arg("loop", at->name().view())), *at);
      }
      if (at != call.common && !func.is_below(*call.common, *at)) { return call.refuse(because(Why::InsideWindow).arg("loop", at->name().view())); }
    }
    return ok();
  }

  /// All readers stay within the window.
  static auto require_reads_in_window(const Call& call, const std::vector<Range>& window, const Plan& plan, arith::Analyzer& analyzer) -> Status {
    for (const Place* child : call.func.blocks_mentioning(call.scope, call.write.buffer)) {
      const BufferRegion* read = region_of(child->block()->reads, call.write.buffer);
      if (!read) { continue; }
      std::vector<Range> needed = call.relaxed(*child, *read);
      const Range& made = window[plan.axis];
      bool is_inside = analyzer.can_prove(less_equal(made.min, needed[plan.axis].min)) &&
                       analyzer.can_prove(less_equal(needed[plan.axis].min + needed[plan.axis].extent, made.min + made.extent));
      if (!is_inside) { return call.refuse(because(Why::ReadsBeyondWindow).arg("block", child->name().view())); }
    }
    return ok();
  }

  /// As in TVM, iter vars at the position of the rolling one become opaque, in all blocks of the scope and in the blocks inside, even in blocks that do
  /// not use the buffer. No other primitive changes unrelated blocks.
  static auto require_opaque_allowed(const Call& call, const Plan& plan) -> Status {
    const FuncState& func = call.func;
    const size_t axis = plan.axis;
    const Block* reduction = nullptr;
    auto is_reduction = [&](const Block& inner) {
      const auto& iters = inner.iter_vars;
      return axis < iters.size() && iters[axis].kind != IterKind::Spatial && iters[axis].kind != IterKind::Opaque;
    };
    for (const BlockRealize* realize : func.places().blocks_below(call.scope)) {
      each_block(*realize->block, [&](const Block& inner) { if (!reduction && is_reduction(inner)) { reduction = &inner; } });
    }
    if (reduction) {
      return call.refuse(because(Why::RollingIterKind).arg("iter", reduction->iter_vars[axis].var->name.view()).arg("block", reduction->name.view()));
    }
    if (auto shared = shares_own_buffer(func, call.scope, call.write.buffer, axis)) {
      return note_loop(call.refuse(because(Why::RolledShared).arg("loop", shared->loop->name().view()).arg("buffer", shared->buffer->name.view()).arg("iter", axis).arg("block", shared->block->name().view())), *shared->loop);
    }
    return ok();
  }

  // Kept elements are not computed again, so their operands must have been complete. This may fail if a block in the rolling loop
  // writes the operands behind this block, or writes only a part before it and the rest in later iterations.
  static auto reads_unfinished(const FuncState& func, const Place& place, const Place& scope, const Place& common, const Plan& plan) -> std::optional<Reason> {
    const Place* outermost = nullptr;
    for (const Place* at = func.parent(place); at && at->is_loop(); at = func.parent(*at)) {
      if (std::any_of(plan.rolled.begin(), plan.rolled.end(), [&](const Var& v) { return v && v == at->loop->var; })) { outermost = at; }
    }
    if (!outermost) { return {}; }
    auto loops_below = [&](const Place& above, const Place& of) {
      std::vector<std::pair<Var, Range>> out;
      for (const Place* at = func.parent(of); at && at != &above; at = func.parent(*at)) {
        if (at->is_loop()) { out.insert(out.begin(), {at->loop->var, Range{at->loop->min, at->loop->extent}}); }
      }
      return out;
    };
    auto at_place = [](const Place& of, const BufferRegion& region) {
      std::vector<Range> out;
      VarMap map = bindings_of(*of.realize);
      for (const Range& range : region.region) { out.push_back(substitute(range, map)); }
      return Array<Range>(std::move(out));
    };
    for (const BufferRegion& read : place.block()->reads) {
      for (const Place* writer : func.blocks_mentioning(scope, read.buffer)) {
        const BufferRegion* write = writer == &place ? nullptr : region_of(writer->block()->writes, read.buffer);
        if (!write || !func.is_below(*writer, *outermost)) { continue; }
        auto name = [&] { return std::string(writer->name().view()); };
        if (writer->index > place.index) { return because(Why::WrittenBehind).arg("writer", name()).arg("buffer", read.buffer->name.view()).arg("loop", outermost->name().view()); }
        const Place* both = func.parent(*writer);
        while (!func.is_below(place, *both)) { both = func.parent(*both); }
        // Operands in rolling buffers keep elements of earlier iterations; bounds of domains also bound the reads.
        Expr predicate = bool_imm(true);
        for (const Expr& part : arith::split_conjunction(writer->realize->predicate)) {
          if (!part.as<Or>() && !keeps_domain(*writer->realize, part)) { predicate = logical_and(predicate, part); }
        }
        arith::Analyzer analyzer;
        for (const Place* at = &common; at && at->is_loop(); at = func.parent(*at)) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
        // All readers stay within the window: this was checked when the writer's buffer became a rolling one.
        std::vector<bool> rolls(write->region.size());
        std::vector<Range> written = at_place(*writer, *write).to_vector();
        for (size_t i = 0; i < written.size(); ++i) {
          const auto* rest = write->region[i].min.as<FloorMod>();
          rolls[i] = rest && is_one(write->region[i].extent) && arith::deep_equal(rest->b, read.buffer->shape[i]);
          if (rolls[i]) { written[i] = from_zero(one(read.buffer->shape[i].dtype())); }
        }
        auto made = arith::estimate_region_lower_bound(Array<Range>(std::move(written)), loops_below(*both, *writer), predicate, analyzer);
        auto needed = arith::estimate_region_upper_bound(at_place(place, read), loops_below(common, place), bool_imm(true), analyzer);
        bool is_made = made.has_value();
        for (size_t i = 0; is_made && i < made->size(); ++i) {
          if (rolls[i]) { continue; }
          const Expr& extent = read.buffer->shape[i];
          const arith::IntSet &have = (*made)[i], &need = needed[i];
          // A dimension that is written as a whole needs no check.
          is_made = have.has_lower_bound() && have.has_upper_bound() &&
                    ((need.has_lower_bound() && analyzer.can_prove(less_equal(have.min(), need.min()))) || analyzer.can_prove(less_equal(have.min(), zero(extent.dtype())))) &&
                    ((need.has_upper_bound() && analyzer.can_prove(less_equal(need.max(), have.max()))) || analyzer.can_prove(less(extent - one(extent.dtype()), have.max() + one(have.max().dtype()))));
        }
        if (!is_made) { return because(Why::WrittenLater).arg("writer", name()).arg("buffer", read.buffer->name.view()); }
      }
    }
    return {};
  }

  // The output of a block with an opaque iter var is allocated outside of the loop that feeds it, even if each of the iterations that run at the same time
  // had a separate buffer.
  struct Shared { const Place* loop; const Place* block; Buffer buffer; };
  static auto shares_own_buffer(const FuncState& func, const Place& scope, const Buffer& rolling, size_t axis) -> std::optional<Shared> {
    const std::vector<Stmt> with = statements_with(func, scope, rolling);
    const bool is_all = with.size() == 1 && with[0].as<Block>();
    auto is_with = [&](const Place& top) { return is_all || std::any_of(with.begin(), with.end(), [&](const Stmt& s) { return s.same_as(top.stmt()); }); };
    for (int i = scope.index + 1; i < scope.end; ++i) {
      const Place& place = func.places()[static_cast<size_t>(i)];
      if (!place.is_block() || axis >= place.block()->iter_vars.size() || place.block()->iter_vars[axis].kind == IterKind::Opaque) { continue; }
      const Place* driving = nullptr;
      const Place* top = &place;
      for (const Place* at = func.parent(place); at != &scope; at = func.parent(*at)) {
        top = at;
        if (at->is_loop() && uses_var(place.realize->iter_values[axis], [&](const VarNode& v) { return &v == at->loop->var.get(); })) { driving = at; }
      }
      if (!driving || !is_with(*top)) { continue; }
      for (const Place* at = func.parent(place); at != func.parent(*driving); at = func.parent(*at)) {
        if (!at->is_loop() || !runs_at_once(*at->loop)) { continue; }
        for (const BufferRegion& write : place.block()->writes) {
          // A parameter is never private to an iteration, and iterations that write separate elements may share a buffer.
          bool is_given = std::any_of(func.func()->buffer_map.begin(), func.func()->buffer_map.end(), [&](const auto& entry) { return entry.second == write.buffer; });
          if (!is_given && !is_used_outside(func, *at, write.buffer) && !tells_apart(func, place, write, *at)) { return Shared{at, &place, write.buffer}; }
        }
      }
    }
    return {};
  }

  // True if no two iterations of a loop write the same element.
  static auto tells_apart(const FuncState& func, const Place& block, const BufferRegion& write, const Place& loop) -> bool {
    std::vector<Expr> indices;
    for (const Range& range : substitute_region(write, bindings_of(*block.realize)).region) {
      if (!is_one(range.extent)) { return false; }
      indices.push_back(range.min);
    }
    return tells_iterations_apart(indices, loop_domains(func, block), block.realize->predicate, loop.loop->var.get(), true);
  }

  /// Calls a function for a block and the blocks inside.
  template <class F>
  static void each_block(const Block& block, const F& f) {
    f(block);
    std::function<void(const Stmt&)> walk = [&](const Stmt& stmt) {
      if (const auto* realize = stmt.as<BlockRealize>()) { return each_block(*realize->block, f); }
      if (!stmt.as<BufferStore>()) { visit_children(stmt, [](const Expr&) {}, walk); }
    };
    if (!block.body.as<BufferStore>()) { walk(block.body); }
  }

  static auto with_opaque(const Array<IterVar>& iter_vars, size_t axis) -> Array<IterVar> {
    if (axis >= iter_vars.size() || iter_vars[axis].kind == IterKind::Opaque) { return iter_vars; }
    std::vector<IterVar> iters = iter_vars.to_vector();
    iters[axis].kind = IterKind::Opaque;
    return Array<IterVar>(std::move(iters));
  }

  // Rewrites blocks that do not use the buffer. Their iterations may still run at the same time, since no values are kept between them.
  class Beside : public Mutator {
   public:
    explicit Beside(size_t axis) : axis_(axis) {}
    using Mutator::on;
    auto on(const For& n) -> Stmt override {
      if (runs_at_once(n)) { return self(n); }
      Stmt body = mutate(n.body);
      return body.same_as(n.body) ? self(n) : Stmt(make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id));
    }
    auto on(const BlockRealize& n) -> Stmt override {
      const Block& block = *n.block;
      Stmt body = mutate(block.body);
      Array<IterVar> iters = with_opaque(block.iter_vars, axis_);
      if (body.same_as(block.body) && iters.same_as(block.iter_vars)) { return self(n); }
      auto fields = block.fields();
      fields.body = std::move(body);
      fields.iter_vars = std::move(iters);
      return make<BlockRealize>(n.iter_values, n.predicate, make<Block>(std::move(fields), block.origin, block.id), n.origin);
    }
    auto on(const BufferStore& n) -> Stmt override { return self(n); }
    auto on(const Evaluate& n) -> Stmt override { return self(n); }

   private:
    size_t axis_;
  };

  class Roll : public Mutator {
   public:
    Roll(const Place& writer, const Plan& plan) : writer_(writer), plan_(plan) {}
    using Mutator::on;
    auto on(const BufferLoad& n) -> Expr override {
      Expr e = Mutator::on(n);
      const auto& load = *e.as<BufferLoad>();
      return load.buffer == plan_.from ? Expr(make<BufferLoad>(plan_.to, rolled(load.indices), load.origin, load.predicate)) : e;
    }
    auto on(const BufferStore& n) -> Stmt override {
      Stmt s = Mutator::on(n);
      const auto& store = *s.as<BufferStore>();
      return store.buffer == plan_.from ? Stmt(make<BufferStore>(plan_.to, store.value, rolled(store.indices), store.origin, store.predicate)) : s;
    }
    auto on(const Block& n) -> Stmt override {
      Stmt s = Mutator::on(n);
      auto fields = s.as<Block>()->fields();
      if (n.id == plan_.scope->id) {
        fields.alloc_buffers = fields.alloc_buffers.map_same([&](const Buffer& b) { return b == plan_.from ? plan_.to : b; },
                                                             [](const Buffer& a, const Buffer& b) { return a.same_as(b); });
        return make<Block>(std::move(fields), s.origin(), n.id);
      }
      fields.iter_vars = with_opaque(fields.iter_vars, plan_.axis);
      if (region_of(n.reads, plan_.from) || region_of(n.writes, plan_.from)) {
        AccessRegions found = find_access_regions(*s.as<Block>(), {plan_.to});
        auto moved = [&](const Array<BufferRegion>& regions, const std::vector<BufferRegion>& now) {
          return regions.map_same([&](const BufferRegion& r) { return !(r.buffer == plan_.from) ? r : now.size() == 1 ? now[0] : full_region(plan_.to); },
                                  [](const auto& a, const auto& b) { return a.same_as(b); });
        };
        fields.reads = moved(fields.reads, found.reads);
        fields.writes = moved(fields.writes, found.writes);
      }
      return make<Block>(std::move(fields), s.origin(), n.id);
    }
    auto on(const BlockRealize& n) -> Stmt override {
      Stmt s = Mutator::on(n);
      if (&n != writer_.realize) { return s; }
      // Elements that the iteration before computed are not computed again.
      Expr condition = n.predicate;
      for (size_t i = 0; i < plan_.rolled.size(); ++i) {
        const Var& var = plan_.rolled[i];
        if (!var || plan_.overlaps[i] <= 0) { continue; }
        arith::Analyzer analyzer;
        arith::DomMap at_zero;
        at_zero.emplace(var.get(), arith::IntSet::interval(int_imm(0), int_imm(0)));
        Expr inner = analyzer.int_set(n.iter_values[i], at_zero).min();
        Expr is_new = logical_or(less(var, one(var->dtype)), greater_equal(std::move(inner), int_imm(plan_.overlaps[i])));
        condition = analyzer.simplify(logical_and(condition, is_new));
      }
      const auto& realize = *s.as<BlockRealize>();
      return make<BlockRealize>(realize.iter_values, std::move(condition), realize.block, realize.origin);
    }

   private:
    auto rolled(const Array<Expr>& indices) const -> Array<Expr> {
      std::vector<Expr> out = indices.to_vector();
      out[plan_.axis] = floormod(out[plan_.axis], int_imm(plan_.window, out[plan_.axis].dtype()));
      return Array<Expr>(std::move(out));
    }
    const Place& writer_;
    const Plan& plan_;
  };

  static auto apply(const Context&, const Args& args, const Plan& plan) -> Outcome {
    Outcome out;
    out.func = args.block.func->name();
    const FuncState& func = *args.block.func;
    Roll roll(*args.block, plan);
    std::vector<Stmt> with = statements_with(func, *plan.scope, plan.from);
    Stmt changed;
    if (with.size() == 1 && with[0].as<Block>()) {
      changed = roll.mutate(with[0]);
    } else {
      // All statements are loops or blocks; few of them access the buffer.
      const Block& scope = *plan.scope->block();
      Beside beside(plan.axis);
      auto change = [&](const Stmt& stmt) {
        bool is_with = std::any_of(with.begin(), with.end(), [&](const Stmt& s) { return s.same_as(stmt); });
        return is_with ? roll.mutate(stmt) : beside.mutate(stmt);
      };
      auto is_same = [](const auto& a, const auto& b) { return a.same_as(b); };
      auto fields = scope.fields();
      const auto* list = scope.body.as<SeqStmt>();
      fields.body = list ? Stmt(make<SeqStmt>(list->seq.map_same(change, is_same), list->origin)) : change(scope.body);
      fields.alloc_buffers = fields.alloc_buffers.map_same([&](const Buffer& b) { return b == plan.from ? plan.to : b; }, is_same);
      changed = make<Block>(std::move(fields), scope.origin, scope.id);
    }
    out.rewrite.changes.push_back({plan.scope->id, std::move(changed)});
    return out;
  }
};

}  // namespace

const Primitive rolling_buffer = primitive<RollingBuffer>("rolling_buffer", "RollingBuffer", "keeps of a buffer only the window that an iteration needs",
    {Order::LoopsReshaped, Hidden::MovesBlock | Hidden::TrustsRegions | Hidden::ChangesBuffer})
    .moves_work()
    .input("block", &RollingBuffer::Args::block)
    .attr("write_buffer_index", &RollingBuffer::Args::write_buffer_index).indexes("write").traced_as("buffer_index").from(candidates::write_indices)
    .example(examples::blur, "i, = sch.get_loops(\"C\")\nsch.compute_at(\"B\", i)\nsch.rolling_buffer(\"B\", 0)");

}  // namespace loopsmith::schedule::primitives
