// Primitives about padding: pad_einsum makes the extents of a computation multiples of given numbers; decompose_padding splits a block
// that pads into one that fills and one that copies.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/regions.h"
#include "schedule/func_tree.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

auto is_name(const Call& call, std::string_view name) -> bool { return call.op == Name(name); }

// True if an expression is zero whenever all loads that the variable indexes are zero.
auto vanishes_with(const Expr& e, const VarNode* var) -> bool {
  if (const auto* n = e.as<BufferLoad>()) {
    return std::any_of(n->indices.begin(), n->indices.end(), [&](const Expr& i) { return i.get() == var; });
  }
  if (const auto* n = e.as<Mul>()) { return vanishes_with(n->a, var) || vanishes_with(n->b, var); }
  if (const auto* n = e.as<Add>()) { return vanishes_with(n->a, var) && vanishes_with(n->b, var); }
  if (const auto* n = e.as<Sub>()) { return vanishes_with(n->a, var) && vanishes_with(n->b, var); }
  if (const auto* n = e.as<Cast>()) { return vanishes_with(n->value, var); }
  return is_zero(e) && e.as<IntImm>();
}

// The value that a reduction joins to its single stored element by an operation with zero as neutral element: a sum, a difference, bitwise
// or and xor. None for other operations.
auto summand_of(const Block& block) -> Expr {
  const auto* store = block.body.as<BufferStore>();
  if (!store) { return {}; }
  auto is_old = [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    if (!load || !(load->buffer == store->buffer)) { return false; }
    for (size_t i = 0; i < store->indices.size(); ++i) {
      if (!arith::deep_equal(load->indices[i], store->indices[i])) { return false; }
    }
    return true;
  };
  if (const auto* difference = store->value.as<Sub>()) { return is_old(difference->a) ? difference->b : Expr(); }
  Expr a, b;
  if (const auto* sum = store->value.as<Add>()) { a = sum->a; b = sum->b; }
  const auto* call = store->value.as<Call>();
  if (call && call->args.size() == 2 && (is_name(*call, "bitwise_or") || is_name(*call, "bitwise_xor"))) { a = call->args[0]; b = call->args[1]; }
  if (!a) { return {}; }
  if (is_old(a)) { return b; }
  return is_old(b) ? a : Expr();
}

// True if a statement consists of stores, and of names for values that the stores use.
auto consists_of_stores(const Stmt& stmt) -> bool {
  if (const auto* let = stmt.as<LetStmt>()) { return consists_of_stores(let->body); }
  const auto* all = stmt.as<SeqStmt>();
  return all ? std::all_of(all->seq.begin(), all->seq.end(), consists_of_stores) : stmt.as<BufferStore>() != nullptr;
}

// True if a block divides integers by a value that it loads.
auto divides_by_padding(const Block& block) -> bool {
  bool found = false;
  auto look_at = [&](const Expr& divisor) {
    if (divisor.dtype().is_float()) { return; }
    post_order(divisor, [&](const Expr& part) { found = found || part.as<BufferLoad>(); });
  };
  post_order(block.body, [](const Stmt&) {}, [&](const Expr& e) {
    if (const auto* n = e.as<Div>()) { look_at(n->b); }
    if (const auto* n = e.as<Mod>()) { look_at(n->b); }
    if (const auto* n = e.as<FloorDiv>()) { look_at(n->b); }
    if (const auto* n = e.as<FloorMod>()) { look_at(n->b); }
  });
  return found;
}

/// Pads a sum of products so that the extents of its iter vars become multiples of given numbers.
///
///     for i, k in T.grid(30, 30):            A_pad[i, k] = if_then_else(i < 30 and k < 30, A[i, k], 0)
///         C[vi] += A[vi, vk]       ==>       for i, k in T.grid(32, 32):
///                                                C_pad[vi] += A_pad[vi, vk]
///                                            C[i] = C_pad[i]
///
/// Needs  a stage pipeline; a block alone in its loops that accesses each buffer once, each dimension by an iter var (or 0), and runs
///        all instances; a whole output buffer that it writes; if a reduction is padded, a single sum to which zeros add nothing; no integer division by
///        an element.
/// Keeps  results bit for bit.
struct PadEinsum {
  struct Args { BlockArg block; std::vector<int64_t> padding; };
  struct Plan {
    const Place* top;                       // the statement of the scope that contains the block
    const Place* scope;
    std::vector<std::pair<const VarNode*, Expr>> extents;   // the new extents of iter vars and loops that grow
    [[nodiscard]] auto extent_of(const VarNode* var) const -> Expr {
      for (const auto& [v, extent] : extents) {
        if (v == var) { return extent; }
      }
      return {};
    }
    [[nodiscard]] auto is_padded(const BufferRegion& region) const -> bool {
      return std::any_of(region.region.begin(), region.region.end(), [&](const Range& r) {
        const auto* var = r.min.as<VarNode>();
        return var && extent_of(var);
      });
    }
  };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& place = *args.block;
    const Block& block = *place.block();
    auto refuse = [&](const Reason& why) { return not_einsum(cx, place, why); };
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    LOOPSMITH_CHECK(require_stage_pipeline(cx, func, *scope));
    bool is_valid = args.padding.size() == block.iter_vars.size();
    for (int64_t p : args.padding) { is_valid &= p > 0; }
    if (!is_valid) { return note_block(cx.error(Code::PaddingSize).arg("block", block.name.view()).arg("count", static_cast<int64_t>(block.iter_vars.size())), place); }
    arith::Analyzer analyzer;
    // If no extent grows, there is nothing to do, for every kind of block.
    bool grows = false;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const Expr& extent = block.iter_vars[i].dom.extent;
      grows |= !analyzer.can_prove_equal(floormod(extent, int_imm(args.padding[i], extent.dtype())), zero(extent.dtype()));
    }
    if (!grows) { return Plan{&place, scope, {}}; }
    LOOPSMITH_CHECK(require_plain_accesses(cx, place));
    Plan plan{&place, scope, {}};
    for (const Place* at = func.parent(place); at != scope; at = func.parent(*at)) { plan.top = at; }
    if (plan.top->is_loop() && func.child_blocks(*plan.top).size() != 1) { return refuse(because(Why::OtherBlocksInLoops)); }
    if (func.parent(*plan.top) != scope || !block.match_buffers.empty() || !block.alloc_buffers.empty() || place.end != place.index + 1) { return refuse(because(Why::HoldsBlocksOrBuffers)); }
    if (!consists_of_stores(block.body) || (block.init && !consists_of_stores(block.init))) { return refuse(because(Why::BodyBeyondStores)); }
    if (divides_by_padding(block)) { return refuse(because(Why::DividesByPadding)); }
    LOOPSMITH_CHECK(find_extents(cx, args, analyzer, plan));
    for (const Place* at = func.parent(place); at != scope; at = func.parent(*at)) {
      auto grows_along = [&](const VarNode& v) { return bool(plan.extent_of(&v)); };
      if (uses_var(at->loop->extent, grows_along) || uses_var(at->loop->min, grows_along)) {
        return note_loop(refuse(because(Why::BoundsOfGrowingLoop).arg("loop", at->name().view())), *at);
      }
    }
    LOOPSMITH_CHECK(require_whole_buffers(cx, place, plan, analyzer));
    std::vector<const VarNode*> all;
    for (const IterVar& iter : block.iter_vars) { all.push_back(iter.var.get()); }
    if (!runs_all_instances(func, place, all)) { return refuse(because(Why::LoopsLeaveOut)); }
    LOOPSMITH_CHECK(require_one_sum(cx, func, place, nullptr));   // for the values that are copied back
    return plan;
  }

  static auto not_einsum(const Context& cx, const Place& place, const Reason& why) -> Diagnostic {
    return note_block(cx.error(Code::NotEinsum).arg("block", place.name().view()).arg("reason", why.text()), place);
  }

  // Each buffer is accessed once, by iter vars alone, and as declared.
  static auto require_plain_accesses(const Context& cx, const Place& place) -> Status {
    const Block& block = *place.block();
    auto refuse = [&](const Reason& why) { return not_einsum(cx, place, why); };
    std::vector<const BufferNode*> used;
    for (const auto* regions : {&block.reads, &block.writes}) {
      for (const BufferRegion& region : *regions) {
        if (std::find(used.begin(), used.end(), region.buffer.get()) != used.end()) { return refuse(because(Why::AccessesTwice).arg("buffer", region.buffer->name.view())); }
        used.push_back(region.buffer.get());
        for (const Range& range : region.region) {
          if (!is_one(range.extent) || !(range.min.as<VarNode>() || is_zero(range.min))) {
            return refuse(because(Why::AccessesNotByIters).arg("buffer", region.buffer->name.view()));
          }
        }
      }
    }
    // The declared regions must be the accessed ones: a part of a partitioned loop declares the region of the whole loop.
    bool is_declared = true;
    auto declares = [&](const Buffer& buffer, const Array<Expr>& indices) {
      for (const auto* regions : {&block.reads, &block.writes}) {
        const BufferRegion* region = region_of(*regions, buffer);
        for (size_t d = 0; region && d < indices.size(); ++d) { is_declared = is_declared && arith::deep_equal(region->region[d].min, indices[d]); }
      }
    };
    post_order(place.block()->body, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { declares(store->buffer, store->indices); } },
               [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { declares(load->buffer, load->indices); } });
    if (!is_declared) { return refuse(because(Why::AccessesUndeclared)); }
    return ok();
  }

  // The padded extents of iter vars and loops; each must be one along which zeros do not change results.
  static auto find_extents(const Context& cx, const Args& args, arith::Analyzer& analyzer, Plan& plan) -> Status {
    const Place& place = *args.block;
    const Block& block = *place.block();
    auto refuse = [&](const Reason& why) { return not_einsum(cx, place, why); };
    Expr summand = summand_of(block);
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      if (!is_zero(iter.dom.min)) { return refuse(because(Why::IterNotFromZero).arg("iter", iter.var->name.view())); }
      Expr factor = int_imm(args.padding[i], iter.dom.extent.dtype());
      Expr padded = analyzer.simplify(ceildiv(iter.dom.extent, factor) * factor);
      if (analyzer.can_prove_equal(padded, iter.dom.extent)) { continue; }
      if (iter.kind != IterKind::Spatial && !(iter.kind == IterKind::Reduction && block.init && summand && vanishes_with(summand, iter.var.get()))) {
        return refuse(because(Why::ZerosChangeResult).arg("iter", iter.var->name.view()));
      }
      // New instances that write no separate elements would initialise the elements of other instances again.
      bool has_own = std::all_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& region) {
        return std::any_of(region.region.begin(), region.region.end(), [&](const Range& r) { return r.min.get() == iter.var.get(); });
      });
      if (iter.kind == IterKind::Spatial && !has_own) { return refuse(because(Why::OutputNotBy).arg("iter", iter.var->name.view())); }
      plan.extents.emplace_back(iter.var.get(), padded);
      if (const auto* loop = place.realize->iter_values[i].as<VarNode>()) { plan.extents.emplace_back(loop, padded); }
    }
    return ok();
  }

  // Along padded dimensions, and of buffers that are written, the block accesses all elements.
  static auto require_whole_buffers(const Context& cx, const Place& place, const Plan& plan, arith::Analyzer& analyzer) -> Status {
    const Block& block = *place.block();
    auto refuse = [&](const Reason& why) { return not_einsum(cx, place, why); };
    for (const auto* regions : {&block.reads, &block.writes}) {
      for (const BufferRegion& region : *regions) {
        if (!plan.is_padded(region)) { continue; }
        for (size_t d = 0; d < region.region.size(); ++d) {
          const Expr& index = region.region[d].min;
          auto iter = std::find_if(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& v) { return v.var.get() == index.get(); });
          bool grows = iter != block.iter_vars.end() && plan.extent_of(iter->var.get());
          Expr extent = iter == block.iter_vars.end() ? int_imm(1, index.dtype()) : iter->dom.extent;
          bool must_fit = grows || regions == &block.writes || iter == block.iter_vars.end();
          if (must_fit && !analyzer.can_prove_equal(extent, region.buffer->shape[d])) {
            return refuse(because(Why::AccessesPart).arg("buffer", region.buffer->name.view()));
          }
        }
      }
    }
    return ok();
  }

  struct Padded { Buffer from, to; };
  static auto padded_buffer(const BufferRegion& region, const Plan& plan) -> Padded {
    std::vector<Expr> shape;
    for (size_t i = 0; i < region.region.size(); ++i) {
      const Expr& index = region.region[i].min;
      const auto* var = index.as<VarNode>();
      Expr extent = var ? plan.extent_of(var) : int_imm(1, index.dtype());
      shape.push_back(extent ? extent : region.buffer->shape[i]);
    }
    return {region.buffer, make_buffer(Name(region.buffer->name.str() + "_pad"), region.buffer->dtype, Array<Expr>(std::move(shape)), region.buffer->scope())};
  }
  static auto copy_nest(const Padded& pad, bool is_read, Origin origin) -> Stmt {
    arith::Analyzer analyzer;
    Domains loops;
    std::vector<IterVar> iters;
    std::vector<Expr> values, indices;
    std::vector<Range> region;
    for (size_t i = 0; i < pad.from->shape.size(); ++i) {
      const Expr& dim = is_read ? pad.to->shape[i] : pad.from->shape[i];
      Var loop = make<VarNode>(Name(fmt::format("i{}", i)), dim.dtype(), origin);
      IterVar iter;
      iter.var = make<VarNode>(Name(fmt::format("v{}", i)), dim.dtype(), origin);
      iter.dom = from_zero(dim);
      loops.emplace_back(loop, from_zero(dim));
      values.emplace_back(loop);
      indices.emplace_back(iter.var);
      region.push_back(point(iter.var));
      iters.push_back(std::move(iter));
    }
    const Buffer& from = is_read ? pad.from : pad.to;
    const Buffer& to = is_read ? pad.to : pad.from;
    Expr value = make<BufferLoad>(from, Array<Expr>(indices), origin);
    if (is_read) {
      Expr inside = bool_imm(true);
      for (size_t i = 0; i < indices.size(); ++i) {
        if (!analyzer.can_prove_equal(pad.from->shape[i], pad.to->shape[i])) { inside = logical_and(inside, less(indices[i], pad.from->shape[i])); }
      }
      value = if_then_else(inside, value, FAULT(pad_einsum_with_ones) ? one(pad.from->dtype) : zero(pad.from->dtype));
    }
    Block::Fields fields;
    fields.name = pad.to->name;
    fields.iter_vars = std::move(iters);
    fields.reads = {BufferRegion{from, Array<Range>(region), origin}};
    fields.writes = {BufferRegion{to, Array<Range>(region), origin}};
    fields.body = make<BufferStore>(to, std::move(value), Array<Expr>(std::move(indices)), origin);
    return wrap_loops(make<BlockRealize>(Array<Expr>(std::move(values)), bool_imm(true), make<Block>(std::move(fields), origin), origin), loops, origin);
  }

  class Grow : public Mutator {
   public:
    Grow(const Plan& plan, const BufferMap& map) : plan_(plan), map_(map) {}
    using Mutator::on;
    auto on(const For& n) -> Stmt override {
      Stmt body = mutate(n.body);
      Expr extent = plan_.extent_of(n.var.get());
      return make<For>(n.var, n.min, extent ? cast(n.var->dtype, extent) : n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
    }
    auto on(const Block& n) -> Stmt override {
      Stmt s = Mutator::on(n);
      auto fields = s.as<Block>()->fields();
      std::vector<IterVar> iters = n.iter_vars.to_vector();
      for (IterVar& iter : iters) {
        if (Expr extent = plan_.extent_of(iter.var.get())) { iter.dom = {iter.dom.min, extent}; }
      }
      fields.iter_vars = std::move(iters);
      return make<Block>(std::move(fields), n.origin, n.id);
    }

   protected:
    auto use(const Buffer& buffer) -> Buffer override {
      auto found = map_.find(buffer.get());
      return found == map_.end() ? buffer : found->second;
    }

   private:
    const Plan& plan_;
    const BufferMap& map_;
  };

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& block = args.block.block();
    Origin origin = cx.made_from(block.origin);
    Outcome out;
    out.func = args.block.func->name();
    BufferMap map;
    std::vector<Stmt> before, behind;
    for (const auto* regions : {&block.reads, &block.writes}) {
      for (const BufferRegion& region : *regions) {
        if (!plan.is_padded(region)) { continue; }
        bool is_read = regions == &block.reads;
        Padded pad = padded_buffer(region, plan);
        map.emplace(pad.from.get(), pad.to);
        (is_read ? before : behind).push_back(copy_nest(pad, is_read, origin));
        out.rewrite.allocs.push_back({plan.scope->id, pad.to, {}});
      }
    }
    if (plan.extents.empty()) { return {}; }
    before.push_back(Grow(plan, map).mutate(plan.top->stmt()));
    before.insert(before.end(), behind.begin(), behind.end());
    out.rewrite.changes.push_back({plan.top->id, seq(std::move(before), plan.top->stmt().origin())});
    return out;
  }
};

// ---- decompose_padding ---------------------------------------------------------------------------------

/// Splits a block that pads into two blocks: one fills with the pad value, the other copies the elements inside.
///
///     B[vi] = if_then_else(vi < 6, A[vi], 0)       for i in range(8):
///                                            ==>       B[i] = 0
///                                                  for i in range(6):
///                                                      B[i] = A[i]
///
/// Needs  a complete block whose body is `B[...] = T.if_then_else(condition, value, constant)`, each instance with an element of its own; a loop
///        around it; iter values that the condition bounds to ranges.
/// Keeps  results bit for bit.
struct DecomposePadding {
  struct Args { BlockArg block; LoopArg loop; };
  struct Plan {
    std::vector<const Place*> loops;         // around the block, from inside
    size_t fill_at;                          // filling happens in front of this loop
    size_t copy_at;                          // the loop that becomes the copy: the loops inside contain nothing else
    std::vector<Range> inside;               // of the iter values
    Expr predicate;
  };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& place = *args.block;
    const Block& block = *place.block();
    auto refuse = [&](const Reason& why) { return note_block(cx.error(Code::PaddingForm).arg("block", block.name.view()).arg("reason", why.text()), place); };
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    LOOPSMITH_CHECK(require_complete(cx, func, place));
    Plan plan{func.loops(place), SIZE_MAX, SIZE_MAX, {}, {}};
    // A part of a partitioned loop may use loops outside of its scope; the new blocks could not.
    for (const Expr& value : place.realize->iter_values) {
      const VarNode* outer = nullptr;
      auto is_outside = [&](const VarNode& v) {
        bool is_own = std::any_of(plan.loops.begin(), plan.loops.end(), [&](const Place* l) { return l->loop->var.get() == &v; });
        return !is_own && !v.dtype.is_handle() && !is_known_at(func, &func.root(), v) && (outer = &v, true);
      };
      if (uses_var(value, is_outside)) { return note_block(cx.error(Code::OuterVariable).arg("block", block.name.view()).arg("variable", outer->name.view()), place); }
    }
    std::reverse(plan.loops.begin(), plan.loops.end());
    arith::Analyzer analyzer;
    Domains domains;
    bool is_chain = true;
    for (size_t i = 0; i < plan.loops.size(); ++i) {
      const For& loop = *plan.loops[i]->loop;
      domains.emplace_back(loop.var, Range{loop.min, loop.extent});
      analyzer.bind(loop.var, Range{loop.min, loop.extent});
      const StmtNode* expected = i == 0 ? static_cast<const StmtNode*>(place.realize) : plan.loops[i - 1]->loop;
      is_chain = is_chain && loop.body.get() == expected;
      if (is_chain && plan.fill_at == SIZE_MAX) { plan.copy_at = i; }
      if (plan.loops[i] == args.loop.place) { plan.fill_at = i; }
    }
    if (plan.fill_at == SIZE_MAX) {
      return note_loop(cx.error(Code::LoopNotAroundBlock).arg("loop", args.loop->name().view()).arg("block", block.name.view()), *args.loop).at_node(place.id);
    }
    if (plan.copy_at == SIZE_MAX) { return refuse(because(Why::NotAloneInnermost)); }
    // In such a loop, one iteration would write the padding value over an element that another iteration has copied.
    for (const Place* at : plan.loops) {
      if (!runs_at_once(*at->loop) || !repeats_instances(*place.realize, *at->loop)) { continue; }
      return note_block(note_loop(cx.error(Code::IterationsShare).arg("loop", at->name().view()).arg("block", block.name.view()), *at), place);
    }
    const auto* store = block.body.as<BufferStore>();
    const auto* call = store ? store->value.as<Call>() : nullptr;
    if (!call || !is_name(*call, "if_then_else") || store->predicate || block.writes.size() != 1) { return refuse(because(Why::BodyNotChoice)).remedy("write the padding as `T.if_then_else(inside, A[...], value)`"); }
    // The fill of one instance would undo the copy of another, or the other way around.
    std::vector<const VarNode*> several;
    bool is_indexed = true;
    for (const IterVar& iter : block.iter_vars) {
      if (is_one(iter.dom.extent)) { continue; }
      several.push_back(iter.var.get());
      is_indexed = is_indexed && std::any_of(store->indices.begin(), store->indices.end(), [&](const Expr& index) { return index.get() == iter.var.get(); });
    }
    if (!is_indexed && !is_one_to_one(block, store->indices.to_vector(), several)) { return refuse(because(Why::InstancesShareElement).arg("buffer", store->buffer->name.view())); }
    if (!call->args[2].as<IntImm>() && !call->args[2].as<FloatImm>()) { return refuse(because(Why::PadValueNotConstant)).remedy("give the padding a constant as its value"); }
    bool has_effect = false;
    post_order(call->args[1], [&](const Expr& e) {
      const auto* inner = e.as<Call>();
      has_effect |= inner && (is_name(*inner, "call_extern") || is_name(*inner, "call_packed") || is_name(*inner, "tvm_call_packed") || is_name(*inner, "call_llvm_intrin"));
    });
    if (has_effect) { return refuse(because(Why::ValueHasEffects)).remedy("call the function in a block before, and read its result here"); }
    Expr condition = bool_imm(true);
    Expr whole = logical_and(substitute(call->args[0], bindings_of(*place.realize)), place.realize->predicate);
    for (Expr part : arith::split_conjunction(whole)) {
      if (const auto* likely = part.as<Call>(); likely && is_name(*likely, "likely")) { part = likely->args[0]; }
      condition = logical_and(condition, part);
    }
    plan.predicate = analyzer.simplify(condition);
    if (analyzer.can_prove(plan.predicate)) { return refuse(because(Why::NothingPadded)).remedy("leave this step out"); }
    auto found = arith::detect_iter_map(place.realize->iter_values.to_vector(), domains, plan.predicate, arith::IterMapLevel::Surjective, analyzer);
    if (found.indices.size() != place.realize->iter_values.size()) { return refuse(because(Why::IterValuesDependent)); }
    for (const arith::IterSum& sum : found.indices) {
      if (sum->args.empty()) {
        plan.inside.push_back({sum->base, int_imm(1, sum->base.dtype())});
        continue;
      }
      if (sum->args.size() != 1 || !analyzer.can_prove_equal(sum->args[0].scale, one(sum->args[0].scale.dtype()))) { return refuse(because(Why::IterValuesStep)); }
      plan.inside.push_back({sum->base, analyzer.simplify(sum->args[0].extent)});
    }
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    Outcome out;
    out.func = args.block.func->name();
    auto [fill_nest, fill_id] = make_fill(cx, args, plan);
    out.rewrite.changes.push_back({plan.loops[plan.copy_at]->id, make_copy(cx, args, plan)});
    out.rewrite.befores.push_back({plan.loops[plan.fill_at]->id, std::move(fill_nest)});
    out.outputs.push_back(Output::block(fill_id));
    return out;
  }

  // Expressions in the variables of a new block and its loops, simplified.
  struct Moved {
    arith::Analyzer analyzer;
    VarMap map;
    explicit Moved(const Plan& plan) {
      for (const Place* loop : plan.loops) { analyzer.bind(loop->loop->var, Range{loop->loop->min, loop->loop->extent}); }
    }
    auto operator()(const Expr& e) -> Expr { return analyzer.simplify(substitute(e, map)); }
    auto all(const Array<Expr>& exprs) -> Array<Expr> {
      std::vector<Expr> out;
      for (const Expr& e : exprs) { out.push_back((*this)(e)); }
      return Array<Expr>(std::move(out));
    }
    auto regions(const Array<BufferRegion>& regions) -> Array<BufferRegion> {
      std::vector<BufferRegion> out;
      for (const BufferRegion& region : regions) {
        std::vector<Range> ranges;
        for (const Range& r : region.region) { ranges.push_back({(*this)(r.min), (*this)(r.extent)}); }
        out.push_back({region.buffer, Array<Range>(std::move(ranges)), region.origin});
      }
      return Array<BufferRegion>(std::move(out));
    }
  };

  // The block that fills, with its loops; and its id.
  static auto make_fill(const Context& cx, const Args& args, const Plan& plan) -> std::pair<Stmt, NodeId> {
    const Place& place = *args.block;
    const Block& block = *place.block();
    const BlockRealize& realize = *place.realize;
    const auto& store = *block.body.as<BufferStore>();
    const auto& call = *store.value.as<Call>();
    Origin origin = cx.made_from(block.origin);
    Moved moved(plan);
    Block::Fields fill;
    fill.name = Name(block.name.str() + "_pad_const");
    std::vector<IterVar> fill_iters;
    for (const IterVar& old : block.iter_vars) {
      IterVar iter = old;
      iter.var = make<VarNode>(old.var->name, old.var->dtype, origin);
      iter.kind = IterKind::Spatial;
      moved.map[old.var.get()] = iter.var;
      fill_iters.push_back(std::move(iter));
    }
    fill.iter_vars = std::move(fill_iters);
    fill.writes = moved.regions(block.writes);
    fill.body = make<BufferStore>(store.buffer, call.args[2], moved.all(store.indices), origin);
    Ref<Block> fill_block = make<Block>(std::move(fill), origin);
    NodeId fill_id = fill_block->id;
    Domains fill_loops;
    for (size_t i = 0; i <= plan.fill_at; ++i) {
      const For& loop = *plan.loops[i]->loop;
      Var var = make<VarNode>(loop.var->name, loop.var->dtype, origin);
      moved.map[loop.var.get()] = var;
      fill_loops.insert(fill_loops.begin(), {var, Range{loop.min, FAULT(padding_fill_short) ? sub(loop.extent, one(loop.extent.dtype())) : loop.extent}});
    }
    Stmt nest = wrap_loops(make<BlockRealize>(moved.all(realize.iter_values), moved(realize.predicate), std::move(fill_block), origin), fill_loops, origin);
    return {std::move(nest), fill_id};
  }

  // The block that copies, with its loops.
  static auto make_copy(const Context& cx, const Args& args, const Plan& plan) -> Stmt {
    const Place& place = *args.block;
    const Block& block = *place.block();
    const BlockRealize& realize = *place.realize;
    const auto& store = *block.body.as<BufferStore>();
    const auto& call = *store.value.as<Call>();
    Origin origin = cx.made_from(block.origin);
    Moved moved(plan);
    std::unordered_map<const VarNode*, Range> ranges;
    for (size_t i = 0; i <= plan.copy_at; ++i) { ranges[plan.loops[i]->loop->var.get()] = Range{plan.loops[i]->loop->min, plan.loops[i]->loop->extent}; }
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& old = block.iter_vars[i];
      IterVar iter = old;
      iter.var = make<VarNode>(old.var->name, old.var->dtype, origin);
      iter.dom = from_zero(cast(old.var->dtype, plan.inside[i].extent));
      iter.kind = IterKind::Spatial;
      moved.map[old.var.get()] = Expr(iter.var) + cast(old.var->dtype, plan.inside[i].min);
      const auto* loop = realize.iter_values[i].as<VarNode>();
      if (auto found = loop ? ranges.find(loop) : ranges.end(); found != ranges.end()) {
        // The loop itself runs over the inner part only.
        found->second = from_zero(cast(loop->dtype, plan.inside[i].extent));
        values.push_back(realize.iter_values[i]);
        moved.map[loop] = realize.iter_values[i] + cast(loop->dtype, plan.inside[i].min);
        moved.analyzer.bind(realize.iter_values[i].ref<VarNode>(), found->second, true);
      } else {
        values.push_back(moved.analyzer.simplify(realize.iter_values[i] - plan.inside[i].min));
      }
      iters.push_back(std::move(iter));
    }
    Block::Fields copy;
    copy.name = block.name;
    copy.iter_vars = std::move(iters);
    copy.reads = moved.regions(block.reads);
    copy.writes = moved.regions(block.writes);
    copy.body = make<BufferStore>(store.buffer, moved(call.args[1]), moved.all(store.indices), store.origin);
    Stmt nest = make<BlockRealize>(Array<Expr>(std::move(values)), moved(plan.predicate), make<Block>(std::move(copy), origin, block.id), realize.origin);
    for (size_t i = 0; i <= plan.copy_at; ++i) {
      const For& loop = *plan.loops[i]->loop;
      const Range& range = ranges[loop.var.get()];
      nest = make<For>(loop.var, range.min, range.extent, loop.for_kind, std::move(nest), loop.thread, loop.annotations, loop.origin, loop.id);
    }
    return nest;
  }
};

}  // namespace

const Primitive pad_einsum = primitive<PadEinsum>("pad_einsum", "PadEinsum", "pads a sum of products to multiples of given extents",
    {Order::LoopsReshaped, Hidden::MovesBlock | Hidden::StaysInLoops | Hidden::TrustsRegions | Hidden::ChangesBuffer})
    .input("block", &PadEinsum::Args::block)
    .attr("padding", &PadEinsum::Args::padding).from(candidates::paddings)
    .example(examples::matmul, "sch.pad_einsum(\"C\", [24, 1, 24])");
const Primitive decompose_padding = primitive<DecomposePadding>("decompose_padding", "DecomposePadding", "takes a block that pads apart into one that fills and one that copies",
    {Order::LoopsReshaped, Hidden::MovesBlock | Hidden::StaysInLoops | Hidden::TrustsRegions | Hidden::ChangesBuffer})
    .moves_work()
    .input("block", &DecomposePadding::Args::block)
    .input("loop", &DecomposePadding::Args::loop).from(candidates::loops_around)
    .block("fill")
    .example(examples::padded, "i, = sch.get_loops(\"P\")\nsch.decompose_padding(\"P\", i)");

}  // namespace loopsmith::schedule::primitives
