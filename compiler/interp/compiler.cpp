// The compiler from TIR to closures: see compiler.h.
#include "interp/compiler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/copies.h"
#include "interp/expressions.h"
#include "interp/host.h"
#include "interp/threads.h"
#include "ir/equal.h"
#include "ir/operations.h"
#include "ir/ops.h"
#include "ir/strides.h"
#include "ir/calls.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/scoped_value.h"

namespace loopsmith::interp {
namespace {

// The deepest nesting of statements and expressions that the interpreter accepts.
constexpr int max_depth = 2000;

auto runner_of(std::string_view tag) -> Runner { return is_block_axis(tag) ? Runner::Block : is_thread_axis(tag) ? Runner::Thread : Runner::Other; }

// The variables in the shape, strides and offset of a buffer.
auto layout_variables(const BufferNode& buffer) -> std::vector<const VarNode*> {
  std::vector<const VarNode*> out;
  auto add = [&](const Expr& e) {
    post_order(e, [&](const Expr& part) {
      const auto* v = part.as<VarNode>();
      if (v && std::find(out.begin(), out.end(), v) == out.end()) { out.push_back(v); }
    });
  };
  for (const Expr& e : buffer.shape) { add(e); }
  for (const Expr& e : buffer.strides) { add(e); }
  if (buffer.elem_offset) { add(buffer.elem_offset); }
  return out;
}

}  // namespace

auto Compiler::slot(const VarNode* v) -> uint32_t {
  auto [place, is_new] = slots_.try_emplace(v, slot_count);
  if (is_new) { slot_count += std::max<uint32_t>(1, v->dtype.lanes); }
  return place->second;
}
auto Compiler::binding(const BufferNode* b) -> uint32_t {
  auto [place, is_new] = bindings_.try_emplace(b, binding_count);
  if (is_new) { ++binding_count; }
  return place->second;
}
auto Compiler::implicit_of(const VarNode* data) -> std::vector<BindBuffer> {
  std::vector<BindBuffer> out;
  auto found = implicit_.find(data);
  if (found == implicit_.end()) { return out; }
  for (const Buffer& b : found->second) {
    std::vector<const VarNode*> vars = layout_variables(*b);
    if (std::all_of(vars.begin(), vars.end(), [&](const VarNode* v) { return is_defined(v); })) { out.push_back(bind_buffer(b)); }
  }
  return out;
}

auto Compiler::views_of(const VarNode* var) -> std::vector<BindBuffer> {
  std::vector<BindBuffer> out;
  auto found = views_by_variable_.find(var);
  if (found == views_by_variable_.end()) { return out; }
  for (const Buffer& b : found->second) {
    std::vector<const VarNode*> vars = layout_variables(*b);
    if (slots_.contains(b->data.get()) && std::all_of(vars.begin(), vars.end(), [&](const VarNode* v) { return is_defined(v); })) { out.push_back(bind_buffer(b)); }
  }
  return out;
}

auto Compiler::scope_of(const VarNode* var, const Stmt& body) -> const Statement* {
  std::vector<BindBuffer> views = views_of(var);
  const Statement* out = statement(body);
  for (BindBuffer& view : views) {
    auto* declare = make_stmt<DeclareStatement>();
    declare->bind = std::move(view);
    declare->body = out;
    out = declare;
  }
  return out;
}
auto Compiler::unsupported(Origin where, const std::string& what) -> Code {
  errors.push_back(error(loopsmith::Code::InterpUnsupported, where).arg("what", what));
  return {make_int<IntConst>(0), nullptr, DataType::int_(32)};
}

// Counts the operation of this node alone in the current piece, once per lane.
void Compiler::count(const Expr& e) {
  Piece& piece = pieces[piece_];
  if (auto type = computes_in(e)) {
    if (is_index_) { ++piece.index_ops; } else if (type->is_real()) { ++piece.flops; } else { ++piece.int_ops; }
  }
  if (const auto* load = e.as<BufferLoad>()) { piece.bytes_read += load->buffer->dtype.element_bytes(); }
}

// Buffers without a declaration are bound at the definition of their memory, and again when a variable of their layout gets a value.
void Compiler::find_implicit(const PrimFuncNode& func) {
  struct Uses : Visitor {
    using Visitor::on;
    using Visitor::visit;
    std::vector<Buffer> used;
    std::unordered_set<const BufferNode*> seen, declared;
    void use(const Buffer& b) { if (seen.insert(b.get()).second) { used.push_back(b); } }
    void visit_buffer(const Buffer& b) override { declared.insert(b.get()); Visitor::visit_buffer(b); }
    void on(const BufferLoad& n) override { use(n.buffer); Visitor::on(n); }
    void on(const BufferStore& n) override { use(n.buffer); Visitor::on(n); }
    void on(const Block& n) override {
      for (const MatchBufferRegion& m : n.match_buffers) { use(m.source.buffer); }
      Visitor::on(n);
    }
  } uses;
  for (const auto& [param, buffer] : func.buffer_map) { uses.declared.insert(buffer.get()); }
  uses.visit(func.body);
  for (const Buffer& b : uses.used) {
    if (uses.declared.contains(b.get())) { continue; }
    implicit_[b->data.get()].push_back(b);
    for (const VarNode* v : layout_variables(*b)) { views_by_variable_[v].push_back(b); }
  }
}

auto Compiler::int_expr(const Expr& e) -> const IntExpr* {
  Code code = expr(e);
  if (code.i) { return code.i; }
  unsupported(e.origin(), "a real number where an integer is needed");
  return make_int<IntConst>(0);
}

template <class F>
auto Compiler::binary(const BinaryNode& n) -> Code {
  Code a = expr(n.a);
  Code b = expr(n.b);
  if (a.i && b.i) {
    switch (width_of(n.dtype)) {
      case Width::W64: return {make_int<IntBinary<F, Width::W64>>(a.i, b.i, n.dtype), nullptr, n.dtype};
      case Width::W32: return {make_int<IntBinary<F, Width::W32>>(a.i, b.i, n.dtype), nullptr, n.dtype};
      case Width::Any: return {make_int<IntBinary<F, Width::Any>>(a.i, b.i, n.dtype), nullptr, n.dtype};
    }
  }
  if (a.f && b.f) {
    switch (round_of(n.dtype)) {
      case Round::F64: return {nullptr, make_real<RealBinary<F, Round::F64>>(a.f, b.f, n.dtype), n.dtype};
      case Round::F32: return {nullptr, make_real<RealBinary<F, Round::F32>>(a.f, b.f, n.dtype), n.dtype};
      case Round::Any: return {nullptr, make_real<RealBinary<F, Round::Any>>(a.f, b.f, n.dtype), n.dtype};
    }
  }
  return unsupported(n.origin, "operands of different kinds");
}

template <class F>
auto Compiler::division(const BinaryNode& n) -> Code {
  Code a = expr(n.a);
  Code b = expr(n.b);
  if (a.i && b.i) { return {make_int<IntDivision<F>>(a.i, b.i, n.dtype, n.origin), nullptr, n.dtype}; }
  if (a.f && b.f) { return {nullptr, make_real<RealBinary<F, Round::Any>>(a.f, b.f, n.dtype), n.dtype}; }
  return unsupported(n.origin, "operands of different kinds");
}

template <class F, class U>
auto Compiler::comparison(const BinaryNode& n) -> Code {
  Code a = expr(n.a);
  Code b = expr(n.b);
  if (a.f && b.f) { return {make_int<RealCompare<F>>(a.f, b.f), nullptr, n.dtype}; }
  if (!a.i || !b.i) { return unsupported(n.origin, "a comparison of different kinds"); }
  if (a.type.is_uint() && a.type.bits == 64) { return {make_int<IntBinary<U, Width::W64>>(a.i, b.i, n.dtype), nullptr, n.dtype}; }
  return {make_int<IntBinary<F, Width::W64>>(a.i, b.i, n.dtype), nullptr, n.dtype};
}

namespace {

auto is_element(const BufferRegion& region, const Array<Expr>& indices) -> bool {
  if (region.region.size() != indices.size()) { return false; }
  for (size_t i = 0; i < indices.size(); ++i) {
    const Range& r = region.region[i];
    if (!is_one(r.extent) || !indices[i].dtype().is_scalar() || !(r.min.same_as(indices[i]) || structural_equal(r.min, indices[i]))) { return false; }
  }
  return true;
}

}  // namespace

// Reads an index as a sum of multiples of variables; false for other forms and for long sums.
auto Compiler::add_terms(Index& sum, const Expr& e, int64_t factor) -> bool {
  if (e.dtype().code != TypeCode::Int || e.dtype().bits < 32 || e.dtype().scalable) { return false; }
  auto scaled = [&](const Expr& a, const Expr& b) {
    auto by = as_int(b);
    int64_t product;
    return by && !__builtin_mul_overflow(factor, *by, &product) && add_terms(sum, a, product);
  };
  if (const auto* v = e.as<VarNode>()) {
    if (v->dtype.lanes > 1) { return false; }
    uint32_t s = slot(v);
    for (int t = 0; t < sum.terms; ++t) {
      if (sum.term[t].slot == s) { return !__builtin_add_overflow(sum.term[t].factor, factor, &sum.term[t].factor); }
    }
    if (sum.terms == Index::most_terms) { return false; }
    sum.term[sum.terms++] = {s, factor};
    return true;
  }
  if (auto number = as_int(e)) {
    int64_t product;
    return !__builtin_mul_overflow(*number, factor, &product) && !__builtin_add_overflow(sum.constant, product, &sum.constant);
  }
  if (const auto* n = e.as<Add>()) { return add_terms(sum, n->a, factor) && add_terms(sum, n->b, factor); }
  if (const auto* n = e.as<Sub>()) { return factor != std::numeric_limits<int64_t>::min() && add_terms(sum, n->a, factor) && add_terms(sum, n->b, -factor); }
  if (const auto* n = e.as<Mul>()) { return scaled(n->a, n->b) || scaled(n->b, n->a); }
  if (const auto* n = e.as<Cast>()) { return n->value.dtype().bits <= e.dtype().bits && add_terms(sum, n->value, factor); }
  if (const auto* n = e.as<Broadcast>()) { return add_terms(sum, n->value, factor); }
  if (const auto* n = e.as<Ramp>()) {
    auto stride = as_int(n->stride);
    int64_t product;
    return stride && !__builtin_mul_overflow(*stride, factor, &product) && !__builtin_add_overflow(sum.per_lane, product, &sum.per_lane) && add_terms(sum, n->base, factor);
  }
  return false;
}

auto Compiler::index(const Expr& e) -> Index {
  Index out(int_expr(e));
  if (out.slot >= 0) { return out; }
  Index sum = out;
  sum.terms = 0;
  return add_terms(sum, e, 1) ? sum : out;
}

auto Compiler::site(const Buffer& buffer, const Array<Expr>& indices, const Expr& predicate, Origin origin, bool writes) -> AccessSite {
  AccessSite s;
  s.binding = binding(buffer.get());
  s.buffer = buffer.get();
  {
    ScopedValue in_index(is_index_, true);
    for (const Expr& i : indices) { s.indices.push_back(index(i)); }
    if (predicate) { s.predicate = int_expr(predicate); }
  }
  for (size_t i = blocks_.size(); i-- > 0;) {
    BlockAround& around = blocks_[i];
    if (around.own.contains(buffer.get())) { break; }
    DeclaredRegions regions{around.block, {}};
    // A block may read the regions that it writes, as reductions do.
    bool is_itself = false;   // the access is the declared element itself: no check is needed
    auto add = [&](const std::vector<BlockAround::Declared>& all) {
      for (const BlockAround::Declared& d : all) {
        if (!(d.region->buffer == buffer)) { continue; }
        regions.places.push_back({d.first});
        is_itself = is_itself || is_element(*d.region, indices);
      }
    };
    add(around.writes);
    if (!writes) { add(around.reads); }
    if (is_itself) { continue; }
    for (const DeclaredRegions::Place& place : regions.places) { around.used.insert(place.first); }
    s.declared.push_back(std::move(regions));
  }
  s.element = buffer->dtype.element();
  s.element_lanes = buffer->dtype.lanes;
  s.element_bytes = buffer->dtype.element_bytes();
  s.origin = origin;
  s.number = static_cast<uint32_t>(accesses.size());
  accesses.push_back({buffer->name, origin});
  // `B[0, 0:64]` of a (16, 4) buffer, possibly with terms that rewrites added to the ramp.
  bool is_ramp = false;
  if (!indices.empty()) { post_order(indices.back(), [&](const Expr& e) { is_ramp = is_ramp || e.as<Ramp>(); }); }
  auto extent = buffer->shape.empty() ? std::nullopt : as_int(buffer->shape.back());
  s.runs_over_rows = is_ramp && extent && indices.back().dtype().lanes > *extent && indices.size() > 1;
  // Shorter types use a byte per element.
  if (buffer->dtype.bits % 8 != 0 && buffer->dtype.bits > 8) {
    unsupported(origin, "elements of `" + buffer->name.str() + "` that are not whole bytes");
  }
  return s;
}

auto Compiler::access_in_text(const Expr& pointer, Origin origin) -> uint32_t {
  Name name("memory");
  bool is_named = false;
  post_order(pointer, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    const auto* var = e.as<VarNode>();
    if (is_named || (!load && !(var && var->dtype.is_handle()))) { return; }
    name = load ? load->buffer->name : var->name;
    is_named = true;
  });
  accesses.push_back({name, origin});
  return static_cast<uint32_t>(accesses.size() - 1);
}

auto Compiler::number(const Expr& e, Origin where) -> Code {
  Code a = expr(e);
  if (a.i || a.f) { return a; }
  Code none = unsupported(where, "a pointer as a number");
  none.type = a.type;
  return none;
}

auto Compiler::expr(const Expr& e) -> Code {
  if (++depth_ > max_depth) {
    --depth_;
    return unsupported(e.origin(), "an expression nested this deeply");
  }
  struct Guard { int& d; ~Guard() { --d; } } guard{depth_};
  DataType t = e.dtype();
  if (t.lanes > max_lanes) { return unsupported(e.origin(), "vectors of more than 4096 lanes"); }
  count(e);
  switch (e.kind()) {
    case NodeKind::VarNode: {
      const auto& n = *e.as<VarNode>();
      uint32_t s = slot(&n);
      if (t.is_handle()) { return make_pointer<PointerVar>(s); }
      if (t.is_real()) {
        return t.lanes > 1 ? Code{nullptr, make_real<VarRef<RealExpr, true>>(s), t} : Code{nullptr, make_real<VarRef<RealExpr, false>>(s), t};
      }
      return t.lanes > 1 ? Code{make_int<VarRef<IntExpr, true>>(s), nullptr, t} : Code{make_int<VarRef<IntExpr, false>>(s), nullptr, t};
    }
    case NodeKind::IntImm: return {make_int<IntConst>(e.as<IntImm>()->value), nullptr, t};
    case NodeKind::FloatImm: return {nullptr, make_real<RealConst>(round_to(t, e.as<FloatImm>()->value)), t};
    case NodeKind::StringImm: return {make_int<IntConst>(0), nullptr, t};
    case NodeKind::Cast: {
      Code a = number(e.as<Cast>()->value, e.origin());
      DataType to = t.element();
      if (to.is_real()) {
        if (a.i) { return {nullptr, make_real<IntToReal>(a.i, a.type.element(), to), t}; }
        return {nullptr, make_real<RealToReal>(a.f, to), t};
      }
      if (a.i) { return {make_int<IntToInt>(a.i, to), nullptr, t}; }
      return {make_int<RealToInt>(a.f, to), nullptr, t};
    }
    case NodeKind::Add: return binary<AddOp>(*e.as<Add>());
    case NodeKind::Sub: return binary<SubOp>(*e.as<Sub>());
    case NodeKind::Mul: return binary<MulOp>(*e.as<Mul>());
    case NodeKind::Div: return division<DivOp>(*e.as<Div>());
    case NodeKind::Mod: return division<ModOp>(*e.as<Mod>());
    case NodeKind::FloorDiv: return division<FloorDivOp>(*e.as<FloorDiv>());
    case NodeKind::FloorMod: return division<FloorModOp>(*e.as<FloorMod>());
    case NodeKind::Min: 
    case NodeKind::Max: {
      bool max = e.kind() == NodeKind::Max;
      const auto& n = static_cast<const BinaryNode&>(*e);
      if (t.is_uint() && t.bits == 64) {
        Code a = expr(n.a);
        Code b = expr(n.b);
        if (max) { return {make_int<IntBinary<UnsignedPick<true>, Width::W64>>(a.i, b.i, t), nullptr, t}; }
        return {make_int<IntBinary<UnsignedPick<false>, Width::W64>>(a.i, b.i, t), nullptr, t};
      }
      return max ? binary<MaxOp>(n) : binary<MinOp>(n);
    }
    case NodeKind::EQ: return comparison<EqOp, UnsignedEqOp>(*e.as<EQ>());
    case NodeKind::NE: return comparison<NeOp, UnsignedNeOp>(*e.as<NE>());
    case NodeKind::LT: return comparison<LtOp, UnsignedLtOp>(*e.as<LT>());
    case NodeKind::LE: return comparison<LeOp, UnsignedLeOp>(*e.as<LE>());
    case NodeKind::GT: return comparison<GtOp, UnsignedGtOp>(*e.as<GT>());
    case NodeKind::GE: return comparison<GeOp, UnsignedGeOp>(*e.as<GE>());
    case NodeKind::And: return {make_int<IntBinary<AndOp, Width::W64>>(int_expr(e.as<And>()->a), int_expr(e.as<And>()->b), t), nullptr, t};
    case NodeKind::Or: return {make_int<IntBinary<OrOp, Width::W64>>(int_expr(e.as<Or>()->a), int_expr(e.as<Or>()->b), t), nullptr, t};
    case NodeKind::Not: return {make_int<NotExpr>(int_expr(e.as<Not>()->a)), nullptr, t};
    case NodeKind::Select: {
      const auto& n = *e.as<Select>();
      const IntExpr* c = int_expr(n.condition);
      Code a = expr(n.true_value);
      Code b = expr(n.false_value);
      if (a.i && b.i) { return {make_int<Choose<IntExpr, true>>(c, a.i, b.i), nullptr, t}; }
      if (a.f && b.f) { return {nullptr, make_real<Choose<RealExpr, true>>(c, a.f, b.f), t}; }
      return unsupported(n.origin, "a choice between different kinds");
    }
    case NodeKind::BufferLoad: {
      const auto& n = *e.as<BufferLoad>();
      AccessSite s = site(n.buffer, n.indices, n.predicate, n.origin, false);
      if (s.element.is_real()) {
        auto* load = make_real<LoadReal>();
        load->site = std::move(s);
        return {nullptr, load, t};
      }
      auto* load = make_int<LoadInt>();
      load->site = std::move(s);
      return {load, nullptr, t};
    }
    case NodeKind::Ramp: {
      const auto& n = *e.as<Ramp>();
      return {make_int<RampExpr>(int_expr(n.base), int_expr(n.stride), t.element()), nullptr, t};
    }
    case NodeKind::Broadcast: {
      Code a = expr(e.as<Broadcast>()->value);
      a.type = t;
      return a;
    }
    case NodeKind::Shuffle: {
      const auto& n = *e.as<Shuffle>();
      std::vector<std::pair<const IntExpr*, int>> int_lanes;
      std::vector<std::pair<const RealExpr*, int>> real_lanes;
      for (const Expr& v : n.vectors) {
        Code c = number(v, n.origin);
        for (int l = 0; l < v.dtype().lanes; ++l) {
          if (c.i) { int_lanes.emplace_back(c.i, l); } else { real_lanes.emplace_back(c.f, l); }
        }
      }
      if (!int_lanes.empty() && !real_lanes.empty()) { return unsupported(n.origin, "operands of different kinds"); }
      std::vector<std::pair<const IntExpr*, int>> ints;
      std::vector<std::pair<const RealExpr*, int>> reals;
      for (const Expr& i : n.indices) {
        auto at = as_int(i);
        size_t all = int_lanes.size() + real_lanes.size();
        if (!at || *at < 0 || static_cast<size_t>(*at) >= all) { return unsupported(n.origin, "a shuffle whose indices are not constant"); }
        if (!int_lanes.empty()) { ints.push_back(int_lanes[static_cast<size_t>(*at)]); } else { reals.push_back(real_lanes[static_cast<size_t>(*at)]); }
      }
      if (!ints.empty()) { return {make_int<LaneOf<IntExpr>>(std::move(ints)), nullptr, t}; }
      return {nullptr, make_real<LaneOf<RealExpr>>(std::move(reals)), t};
    }
    case NodeKind::Let: {
      const auto& n = *e.as<Let>();
      if (n.value.dtype().lanes > 1) { return expr(substitute(n.body, {{n.var.get(), n.value}})); }
      Code value = expr(n.value);
      uint32_t s = slot(n.var.get());
      Code body = expr(n.body);
      if (body.i) { return {make_int<LetExpr<IntExpr>>(s, value.i, value.f, body.i), nullptr, t}; }
      return {nullptr, make_real<LetExpr<RealExpr>>(s, value.i, value.f, body.f), t};
    }
    case NodeKind::Call: return call(*e.as<Call>());
    case NodeKind::Reduce: return reduction(*e.as<Reduce>());
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      break;
  }
  return unsupported(e.origin(), "this expression");
}

auto Compiler::reduction(const Reduce& n) -> Code {
  const CommReducerNode& combiner = *n.combiner;
  if (n.dtype.lanes > 1) { return unsupported(n.origin, "a reduction of vectors"); }
  Fold fold;
  for (const IterVar& iter : n.axis) {
    if (!iter.dom.extent) { return unsupported(n.origin, "a reduction over an axis without a domain"); }
    fold.axes.push_back({slot(iter.var.get()), int_expr(iter.dom.min), int_expr(iter.dom.extent)});
    define(iter.var.get());
  }
  for (size_t i = 0; i < n.source.size(); ++i) {
    fold.lhs.push_back(slot(combiner.lhs[i].get()));
    fold.rhs.push_back(slot(combiner.rhs[i].get()));
    define(combiner.lhs[i].get());
    define(combiner.rhs[i].get());
  }
  // A source of this reduction may use the same combiner, and so the same variables.
  for (size_t i = 0; i < n.source.size(); ++i) {
    bool nests = false;
    post_order(n.source[i], [&](const Expr& x) { nests = nests || (x.as<Reduce>() && x.as<Reduce>()->combiner == n.combiner); });
    if (nests) { return unsupported(n.origin, "a reduction inside of another one with the same combiner"); }
    fold.start.push_back(number(n.init.size() == 0 ? combiner.identity[i] : n.init[i], n.origin));
    fold.source.push_back(number(n.source[i], n.origin));
    fold.result.push_back(number(combiner.result[i], n.origin));
  }
  fold.condition = n.condition ? int_expr(n.condition) : make_int<IntConst>(1);
  fold.wanted = static_cast<size_t>(n.value_index);
  if (n.dtype.is_real()) {
    auto* out = make_real<FoldReal>();
    out->fold = std::move(fold);
    return {nullptr, out, n.dtype};
  }
  auto* out = make_int<FoldInt>();
  out->fold = std::move(fold);
  return {out, nullptr, n.dtype};
}

namespace {

// The reason why a call cannot be interpreted.
auto why_unknown(std::string_view op) -> std::string {
  static constexpr std::pair<std::string_view, const char*> rows[] = {
      {"anylist_", "the module has no function of that name that takes these arguments"}, {"lookup_param", "the module has no constant of that name: `NAME = T.allocate_const(...)`"},
      {"texture2d_", "its first argument is no buffer of pixels with four numbers each"},
      {"nd_mem_alloc_with_scope", "it is not bound to a name, or its shape is not a `T.tvm_stack_make_shape(...)`"}, {"masked_", "its pointer has no element type, or another one than the value"}};
  for (auto [begin, why] : rows) {
    if (op.starts_with(begin)) { return std::string(": ") + why; }
  }
  return {};
}

}  // namespace

auto Compiler::call(const Call& n) -> Code {
  DataType t = n.dtype;
  static const Name if_then_else("if_then_else"), likely("likely"), reinterpret("reinterpret"), ret("ret"), large("large_uint_imm"),
      address_of("address_of"), access_ptr("tvm_access_ptr"), offset_pointer("handle_add_byte_offset"), shuffle("tvm_warp_shuffle"),
      shuffle_up("tvm_warp_shuffle_up"), shuffle_down("tvm_warp_shuffle_down"), active_mask("tvm_warp_activemask"), vscale("vscale"), undef("undef");
  if (n.op == if_then_else && n.args.size() == 3) {
    const IntExpr* c = int_expr(n.args[0]);
    Code a, b;
    uint32_t a_piece, b_piece;
    {
      NewPiece piece(*this);
      a_piece = piece.number();
      a = expr(n.args[1]);
    }
    {
      NewPiece piece(*this);
      b_piece = piece.number();
      b = expr(n.args[2]);
    }
    if (a.i && b.i) { return {make_int<Choose<IntExpr, false>>(c, a.i, b.i, a_piece, b_piece), nullptr, t}; }
    if (a.f && b.f) { return {nullptr, make_real<Choose<RealExpr, false>>(c, a.f, b.f, a_piece, b_piece), t}; }
    return unsupported(n.origin, "a choice between different kinds");
  }
  static const Name no_partition("ignore_loop_partition"), infinity("infinity");
  if (n.op == infinity && n.args.empty()) { return expr(float_imm(std::numeric_limits<double>::infinity(), t, n.origin)); }
  if ((n.op == likely || n.op == ret || n.op == no_partition) && n.args.size() == 1) { return expr(n.args[0]); }
  if (n.op == large && n.args.size() == 2) {
    auto low = as_int(n.args[0]);
    auto high = as_int(n.args[1]);
    if (low && high) { return {make_int<IntConst>(static_cast<int64_t>((static_cast<uint64_t>(*high) << 32) | static_cast<uint64_t>(*low))), nullptr, t}; }
  }
  if (n.op == reinterpret && n.args.size() == 1) {
    Code a = number(n.args[0], n.origin);
    if (a.type.lanes != t.lanes) {
      if (t.bits * t.lanes != a.type.bits * a.type.lanes) { return unsupported(n.origin, "a reinterpretation as a type of another size"); }
      if (t.is_real()) {
        auto* r = make_real<ReinterpretRealLanes>();
        r->other = {a, t};
        return {nullptr, r, t};
      }
      auto* r = make_int<ReinterpretLanes>();
      r->other = {a, t};
      return {r, nullptr, t};
    }
    if (t.is_real()) {
      auto* r = make_real<ReinterpretReal>();
      r->a = a;
      r->to = t;
      return {nullptr, r, t};
    }
    auto* r = make_int<Reinterpret>();
    r->a = a;
    r->to = t.element();
    return {r, nullptr, t};
  }
  if (n.op == address_of || n.op == access_ptr || n.op == offset_pointer) {
    const PointerExpr* p = pointer(Expr(Ref<Call>(&n)));
    return {nullptr, nullptr, t, p};
  }
  if (n.op == shuffle || n.op == shuffle_up || n.op == shuffle_down) { return shuffle_between_threads(n); }
  if (n.op.view().starts_with("@")) { return value_of_function(n); }
  if (n.op == "atomic_add" && n.args.size() == 2) { return atomic_add(n); }
  if (const PointerExpr* p = t.is_handle() ? host_pointer(n) : nullptr) { return {nullptr, nullptr, t, p}; }
  if (auto host = host_value(n)) { return *host; }
  // The interpreted machine has the shortest scalable vectors: `vscale` is 1.
  if (n.op == vscale && n.args.empty()) { return {make_int<IntConst>(1), nullptr, t}; }
  if (n.op == undef && n.args.empty()) { return t.is_real() ? Code{nullptr, make_real<RealConst>(0), t} : Code{make_int<IntConst>(0), nullptr, t}; }
  if (n.op == active_mask) { return {make_int<IntConst>(0xFFFFFFFF), nullptr, t}; }
  std::vector<Code> args;
  Name name = n.op;
  size_t first = 0;
  // call_pure_extern("float32", "expf", x): by its C name.
  if (n.op == "call_pure_extern" || n.op == "call_extern") {
    const auto* symbol = n.args.empty() ? nullptr : n.args[0].as<StringImm>();
    if (!symbol) { return unsupported(n.origin, "an external call without a name"); }
    name = Name(c_function_name(symbol->value));
    first = 1;
  }
  // call_llvm_pure_intrin("int32x16", "llvm.x86...", number of arguments that determine its types, x, ...): by its LLVM name.
  if (n.op == "call_llvm_pure_intrin" || n.op == "call_llvm_intrin") {
    const auto* symbol = n.args.size() < 2 ? nullptr : n.args[0].as<StringImm>();
    if (!symbol) { return unsupported(n.origin, "an LLVM intrinsic without a name"); }
    name = Name(symbol->value);
    first = 2;
    if (auto collective = matrix_product_of_wavefront(n)) { return *collective; }
  }
  // (number in GLSL.std.450, x, ...)
  if (n.op == "call_spirv_pure_glsl450" && n.args.size() > 1) {
    name = glsl_function(as_int(n.args[0]).value_or(0));
    first = 1;
  }
  for (size_t i = first; i < n.args.size(); ++i) { args.push_back(expr(n.args[i])); }
  bool all_real = std::all_of(args.begin(), args.end(), [](const Code& c) { return c.f != nullptr; });
  bool all_int = std::all_of(args.begin(), args.end(), [](const Code& c) { return c.i != nullptr; });
  if (!args.empty() && all_real && args.size() <= 4) {
    if (t.is_real()) {
      if (RealInstruction instruction = find_real_instruction(name.view(), args.size())) {
        auto* r = make_real<RealInstructionCall>();
        r->instruction = instruction;
        r->args = std::move(args);
        r->type = t;
        return {nullptr, r, t};
      }
      if (RealFunction function = find_real_function(name, args.size())) {
        auto* r = make_real<RealCall>();
        r->function = function;
        for (const Code& c : args) { r->args.push_back(c.f); }
        r->type = t.element();
        return {nullptr, r, t};
      }
    } else if (args.size() == 1) {
      if (RealFunction function = find_real_predicate(name)) {
        auto* r = make_int<RealPredicate>();
        r->function = function;
        r->arg = args[0].f;
        r->type = args[0].type.element();
        return {r, nullptr, t};
      }
    }
  }
  if (all_int && args.size() <= 7 && !t.is_real()) {
    if (IntFunction function = find_int_function(name, args.size())) {
      auto* r = make_int<IntCall>();
      r->function = function;
      for (const Code& c : args) { r->args.push_back(c.i); }
      r->type = t.element();
      return {r, nullptr, t};
    }
  }
  if (all_int && t.is_integral()) {
    if (Instruction instruction = find_instruction(name.view(), args.size())) {
      auto* r = make_int<InstructionCall>();
      r->instruction = instruction;
      r->args = std::move(args);
      r->type = t;
      return {r, nullptr, t};
    }
  }
  return unsupported(n.origin, "the intrinsic `" + name.str() + "`" + why_unknown(n.op.view()));
}

auto Compiler::bind_buffer(const Buffer& buffer) -> BindBuffer {
  BindBuffer b;
  b.binding = binding(buffer.get());
  b.memory = slot(buffer->data.get());
  b.buffer = buffer.get();
  for (const Expr& e : buffer->shape) { b.shape.push_back(int_expr(e)); }
  if (is_strided(buffer)) {
    for (const Expr& e : buffer->strides) { b.strides.push_back(int_expr(e)); }
  }
  if (buffer->elem_offset) { b.offset = int_expr(buffer->elem_offset); }
  return b;
}

auto Compiler::make_allocation(const Var& data, const Array<Expr>& extents, DataType dtype, Origin origin, std::string contents)
    -> std::unique_ptr<AllocateMemory> {
  auto a = std::make_unique<AllocateMemory>();
  a->memory = slot(data.get());
  a->number = storage_count++;
  std::string_view scope = data->pointer ? data->pointer->scope.view() : std::string_view();
  a->is_shared = in_kernel_ && is_shared_memory(scope);
  a->owner = is_shared_memory(scope) ? Runner::Block : memory_family(scope) == MemoryFamily::Local ? Runner::Thread : Runner::Device;
  for (const Expr& e : extents) { a->extents.push_back(int_expr(e)); }
  a->element_bytes = std::max(1, dtype.element_bytes() * dtype.lanes);
  a->constant = std::move(contents);
  a->origin = origin;
  a->bind = implicit_of(data.get());
  return a;
}

auto Compiler::block(const BlockRealize& realize) -> const Statement* {
  const Block& b = *realize.block;
  auto* out = make_stmt<BlockInstance>();
  out->block = &b;
  is_index_ = true;
  if (!is_one(realize.predicate)) { out->predicate = int_expr(realize.predicate); }
  for (size_t i = 0; i < b.iter_vars.size(); ++i) {
    const VarNode* iter = b.iter_vars[i].var.get();
    // An iter var that equals a loop variable uses the variable's slot. Another realize of the block may use another slot.
    const auto* same = realize.iter_values[i].as<VarNode>();
    slots_.erase(iter);
    if (same && same->dtype == iter->dtype) { slots_[iter] = slot(same); }
    uint32_t s = slot(iter);
    define(iter);
    out->iters.emplace_back(s, int_expr(realize.iter_values[i]));
    if (!same || !(same->dtype == iter->dtype)) { out->moved.push_back(out->iters.back()); }
    if (b.iter_vars[i].kind != IterKind::Reduction) { continue; }
    out->starts.emplace_back(s, int_expr(b.iter_vars[i].dom.min));
    post_order(realize.iter_values[i], [&](const Expr& e) {
      auto found = e.as<VarNode>() ? thread_loops_.find(e.as<VarNode>()) : thread_loops_.end();
      if (found != thread_loops_.end()) { out->reduced.push_back(found->second); }
    });
  }
  is_index_ = false;
  for (const Buffer& buffer : b.alloc_buffers) {
    auto a = make_allocation(buffer->data, buffer->shape, buffer->dtype, buffer->origin, {});
    // Buffers with strides need memory for their whole span.
    if (is_strided(buffer)) {
      a->extents.clear();
      a->extents.push_back(int_expr(mul(buffer->strides[0], buffer->shape[0])));
    }
    a->bind.push_back(bind_buffer(buffer));
    if (buffer->shape.size() > 1) { row_of_[buffer->data.get()] = is_strided(buffer) ? buffer->strides[buffer->strides.size() - 2] : buffer->shape.back(); }
    out->allocations.push_back(std::move(a));
  }
  for (const IterVar& iter : b.iter_vars) {
    for (BindBuffer& view : views_of(iter.var.get())) { out->views.push_back(std::move(view)); }
  }
  for (const MatchBufferRegion& m : b.match_buffers) {
    MatchRegion match;
    match.target = binding(m.buffer.get());
    match.source = binding(m.source.buffer.get());
    match.buffer = m.buffer.get();
    match.memory = slot(m.buffer->data.get());
    match.origin = m.source.origin;
    match.bind = implicit_of(m.buffer->data.get());
    for (const Range& r : m.source.region) {
      match.mins.push_back(int_expr(r.min));
      match.extents.push_back(int_expr(r.extent));
    }
    auto introduces = [&](const Expr& e) -> const VarNode* {
      const auto* v = e ? e.as<VarNode>() : nullptr;
      return v && !is_defined(v) ? v : nullptr;
    };
    for (size_t d = 0; d < m.buffer->shape.size(); ++d) {
      if (const auto* v = introduces(m.buffer->shape[d])) { match.shape_vars.emplace_back(slot(v), d); }
    }
    for (size_t d = 0; d < m.buffer->strides.size(); ++d) {
      if (const auto* v = introduces(m.buffer->strides[d])) { match.stride_vars.emplace_back(slot(v), d); }
    }
    if (const auto* v = introduces(m.buffer->elem_offset)) { match.offset_var = slot(v); }
    if (m.buffer->strides.size() > 1) { row_of_[m.buffer->data.get()] = m.buffer->strides[m.buffer->strides.size() - 2]; }
    out->matches.push_back(std::move(match));
  }
  // The root block of a function declares no regions; neither does a block that lowering made around other blocks.
  bool is_checked = options_.check_regions && !b.iter_vars.empty();
  if (is_checked) {
    BlockAround around;
    around.block = &b;
    for (const Buffer& buffer : b.alloc_buffers) { around.own.insert(buffer.get()); }
    for (const MatchBufferRegion& m : b.match_buffers) { around.own.insert(m.buffer.get()); }
    auto declare = [&](const Array<BufferRegion>& regions, auto& to) {
      for (const BufferRegion& region : regions) {
        DeclaredRegion declared;
        declared.first = region_count;
        region_count += 2 * region.region.size();
        for (const Range& r : region.region) {
          declared.mins.push_back(int_expr(r.min));
          declared.extents.push_back(int_expr(r.extent));
        }
        to.push_back({&region, declared.first});
        out->declared.push_back(std::move(declared));
      }
    };
    {
      // Loads in the indices of a region are not checked against the block's regions.
      ScopedValue without_blocks(blocks_, std::vector<BlockAround>());
      declare(b.reads, around.reads);
      declare(b.writes, around.writes);
    }
    blocks_.push_back(std::move(around));
  }
  Stmt described = options_.describe ? options_.describe(b) : Stmt();
  if (described) {
    out->body = statement(described);
  } else {
    if (b.init) { out->init = statement(b.init); }
    out->body = statement(b.body);
  }
  if (is_checked) {
    const std::unordered_set<size_t>& used = blocks_.back().used;
    std::erase_if(out->declared, [&](const DeclaredRegion& d) { return !used.contains(d.first); });
    blocks_.pop_back();
  }
  return out;
}

auto Compiler::loop(const For& n) -> const Statement* {
  if (n.for_kind == ForKind::ThreadBinding && n.thread && is_thread_axis(n.thread->thread_tag.view()) && (in_kernel_ || needs_threads(n.body))) {
    Stmt body = n.body;
    if (!(n.thread->var == n.var)) {
      body = make<LetStmt>(n.thread->var, n.var, body, n.origin);
      auto known = std::find(dimensions_.begin(), dimensions_.end(), n.thread->thread_tag);
      thread_dimensions_[n.thread->var.get()] = in_kernel_ ? static_cast<size_t>(known - dimensions_.begin()) : 0;
    }
    if (!is_zero(n.min)) { unsupported(n.origin, "threads that do not count from 0"); }
    return launch(n.var, n.thread->thread_tag, n.extent, body, n.origin, false);
  }
  auto* out = make_stmt<Loop>();
  out->name = n.var->name;
  has_unordered = has_unordered || n.for_kind == ForKind::Parallel || n.for_kind == ForKind::Vectorized || n.for_kind == ForKind::ThreadBinding;
  out->runner = n.thread ? runner_of(n.thread->thread_tag.view()) : Runner::Other;
  out->any_order = n.for_kind == ForKind::Parallel || n.for_kind == ForKind::Vectorized || n.for_kind == ForKind::ThreadBinding;
  is_index_ = true;
  out->min = int_expr(n.min);
  out->extent = int_expr(n.extent);
  is_index_ = false;
  out->slot = slot(n.var.get());
  out->counter = static_cast<uint32_t>(loops.size());
  loops.push_back({n.id, n.origin, n.var->name, loop_});
  ScopedValue inside(loop_, static_cast<int>(out->counter));
  define(n.var.get());
  bool is_thread = n.for_kind == ForKind::ThreadBinding && n.thread && is_thread_axis(n.thread->thread_tag.view());
  if (is_thread) {
    thread_loops_[n.var.get()] = out;
    thread_loops_[n.thread->var.get()] = out;
  }
  // The body may also use the thread's own variable.
  if (n.thread && !(n.thread->var == n.var)) {
    auto* let = make_stmt<LetStatement>();
    let->slot = slot(n.thread->var.get());
    let->value = {make_int<VarRef<IntExpr, false>>(out->slot), nullptr, n.var->dtype};
    let->body = scope_of(n.var.get(), n.body);
    out->body = let;
  } else {
    out->body = scope_of(n.var.get(), n.body);
  }
  return out;
}

// `for v in T.thread_binding(extent, tag)`, or `v = T.launch_thread(tag, extent)`, for threads that wait for each other: every thread
// of the nest runs the whole body of its outermost loop.
auto Compiler::launch(Var var, Name tag, const Expr& extent, const Stmt& body, Origin origin, bool is_launch) -> const Statement* {
  define(var.get());
  has_unordered = true;
  if (in_kernel_) {
    // The loop is over a new dimension, or over a known one again.
    auto known = std::find_if(dimensions_.begin(), dimensions_.end(), [&](Name d) { return d == tag; });
    if (known == dimensions_.end()) {
      unsupported(origin, "a kernel whose number of threads is unknown at its beginning");
      return make_stmt<Nothing>();
    }
    auto* out = make_stmt<ThreadIndex>();
    out->name = var->name;
    out->slot = slot(var.get());
    out->dimension = static_cast<size_t>(known - dimensions_.begin());
    thread_dimensions_[var.get()] = out->dimension;
    if (Name& variable = kernel_->dimensions[out->dimension].variable; variable.empty()) { variable = var->name; }
    out->body = scope_of(var.get(), body);
    return out;
  }
  auto* out = make_stmt<KernelStatement>();
  out->origin = origin;
  out->is_launch = is_launch || has_barriers(body);
  std::vector<std::pair<Name, Expr>> found;
  auto add = [&](Name t, const Expr& e) {
    if (std::none_of(found.begin(), found.end(), [&](const auto& d) { return d.first == t; })) { found.emplace_back(t, e); }
  };
  add(tag, extent);
  post_order(
      body,
      [&](const Stmt& s) {
        if (const auto* inner = s.as<For>(); inner && inner->thread && is_thread_axis(inner->thread->thread_tag.view())) { add(inner->thread->thread_tag, inner->extent); }
        if (const auto* attr = s.as<AttrStmt>(); attr && attr->key == "thread_extent") {
          const auto* iter = std::get_if<IterVar>(&attr->node);
          if (iter && is_thread_axis(iter->thread_tag.view())) { add(iter->thread_tag, attr->value); }
        }
      },
      [](const Expr&) {});
  // Threads are numbered along `threadIdx.x` first, regardless of the order of loops: that determines the warps.
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first.view() < b.first.view(); });
  dimensions_.clear();
  for (const auto& [t, e] : found) {
    dimensions_.push_back(t);
    out->dimensions.push_back({t, int_expr(e), t == tag ? var->name : Name()});
  }
  in_kernel_ = true;
  ScopedValue kernel_around(kernel_, out);
  auto* index = make_stmt<ThreadIndex>();
  index->name = var->name;
  index->slot = slot(var.get());
  index->dimension = static_cast<size_t>(std::find(dimensions_.begin(), dimensions_.end(), tag) - dimensions_.begin());
  thread_dimensions_[var.get()] = index->dimension;
  index->body = scope_of(var.get(), body);
  in_kernel_ = false;
  out->body = index;
  return out;
}

auto Compiler::pointer(const Expr& e) -> const PointerExpr* {
  if (const auto* v = e.as<VarNode>()) { return make_pointer<PointerVar>(slot(v)).p; }
  if (const auto* c = e.as<Call>()) {
    if (c->op == "address_of" && c->args.size() == 1) {
      if (const auto* load = c->args[0].as<BufferLoad>()) {
        ScopedValue without_blocks(blocks_, std::vector<BlockAround>());   // taking an address is no access
        AccessSite place = site(load->buffer, load->indices, {}, load->origin, false);
        return make_pointer<AddressOf>(std::move(place)).p;
      }
    }
    // (type, data, offset, extent, access): in elements of the type.
    if (c->op == "tvm_access_ptr" && c->args.size() == 5) {
      return make_pointer<PointerOffset>(pointer(c->args[1]), int_expr(c->args[2]), std::max(1, c->args[0].dtype().element_bytes() * c->args[0].dtype().lanes)).p;
    }
    if (c->op == "handle_add_byte_offset" && c->args.size() == 2) { return make_pointer<PointerOffset>(pointer(c->args[0]), int_expr(c->args[1]), 1).p; }
    if (c->op == "reinterpret" && c->args.size() == 1 && c->args[0].dtype().is_handle()) { return pointer(c->args[0]); }
    if (const PointerExpr* p = host_pointer(*c)) { return p; }
  }
  unsupported(e.origin(), "this pointer");
  return make_pointer<PointerVar>(0).p;
}

// (mask, value, lane or distance, width, size of a warp)
auto Compiler::shuffle_between_threads(const Call& n) -> Code {
  if (!in_kernel_ || n.args.size() != 5) { return unsupported(n.origin, "`" + n.op.str() + "` outside of a launch"); }
  WarpShuffle shuffle;
  shuffle.kind = n.op == "tvm_warp_shuffle" ? WarpShuffle::From : n.op == "tvm_warp_shuffle_up" ? WarpShuffle::Up : WarpShuffle::Down;
  shuffle.mask = int_expr(n.args[0]);
  shuffle.value = expr(n.args[1]);
  shuffle.lane = int_expr(n.args[2]);
  shuffle.width = int_expr(n.args[3]);
  shuffle.warp = std::max<int64_t>(1, as_int(n.args[4]).value_or(32));
  shuffle.origin = n.origin;
  if (n.dtype.is_real()) { return {nullptr, make_real<ShuffleReal>(std::move(shuffle)), n.dtype}; }
  return {make_int<ShuffleInt>(std::move(shuffle)), nullptr, n.dtype};
}

auto Compiler::evaluate(const Evaluate& n) -> const Statement* {
  static const Name ret("ret"), prefetch("prefetch"), assume("assume"), sync("tvm_storage_sync"), allreduce("tvm_thread_allreduce"),
      call_extern("call_extern"), call_pure_extern("call_pure_extern"), profile_start("start_profile_intrinsic"), profile_end("end_profile_intrinsic");
  if (n.value.as<IntImm>()) { return make_stmt<Nothing>(); }
  const auto* c = n.value.as<Call>();
  // Hints have no effect.
  if (c && (c->op == prefetch || c->op == assume || c->op == profile_start || c->op == profile_end)) { return make_stmt<Nothing>(); }
  if (c && c->op == sync) {
    // A single thread does not wait.
    if (!in_kernel_) { return make_stmt<Nothing>(); }
    auto* out = make_stmt<Barrier>();
    out->origin = n.origin;
    const auto* scope = c->args.empty() ? nullptr : c->args[0].as<StringImm>();
    out->is_warp = scope && scope->value == "warp";
    return out;
  }
  if (c && c->op == allreduce) { return reduce_across_threads(*c); }
  if (c) {
    if (const Statement* tile = tile_operation(*c)) { return tile; }
  }
  if (c) {
    if (const Statement* copies = copy_statement(*c)) { return copies; }
    if (const Statement* host = host_statement(*c)) { return host; }
  }
  if (c && c->op.view().starts_with("@")) {
    const Statement* call = call_function(*c);
    return call ? call : make_stmt<Nothing>();
  }
  if (c && (c->op == call_extern || c->op == call_pure_extern) && !c->args.empty()) {
    const auto* symbol = c->args[0].as<StringImm>();
    // The call that transform/check_bounds.h inserts for an index out of bounds.
    if (symbol && symbol->value == "loopsmith_out_of_bounds" && c->args.size() == 4) {
      const auto* text = c->args[1].as<StringImm>();
      auto* out = make_stmt<AssertThat>();
      out->condition = make_int<IntConst>(0);
      out->message = text ? text->value : "an index is out of bounds";
      out->origin = n.origin;
      out->body = make_stmt<Nothing>();
      return out;
    }
    if (symbol && c->args.size() == 4 && (symbol->value == "memcpy" || symbol->value == "memmove" || symbol->value == "memset")) {
      auto* out = make_stmt<MemoryCall>();
      out->origin = n.origin;
      out->name = Name(symbol->value);
      out->to = pointer(c->args[1]);
      if (symbol->value == "memset") { out->byte = int_expr(c->args[2]); } else { out->from = pointer(c->args[2]); }
      out->bytes = int_expr(c->args[3]);
      return out;
    }
  }
  NewPiece piece(*this);
  auto* out = make_stmt<EvaluateStatement>();
  out->counter = piece.number();
  out->is_return = c && c->op == ret;
  if (out->is_return && c->args.size() == 0) { return out; }
  out->value = expr(n.value);
  if (out->is_return) { (out->value.f ? returns_.reals : returns_.ints) = true; }
  return out;
}

// tvm_thread_allreduce(count, values ..., condition, results ..., thread indices ...), the combiner in the attribute around.
auto Compiler::reduce_across_threads(const Call& n) -> const Statement* {
  auto count = n.args.empty() ? std::nullopt : as_int(n.args[0]);
  if (!in_kernel_ || !reducer_ || !count || *count < 1 || n.args.size() < static_cast<size_t>(2 + 2 * *count)) {
    unsupported(n.origin, !in_kernel_ ? "a reduction across threads outside of a launch" : "a reduction across threads without its combiner");
    return make_stmt<Nothing>();
  }
  auto size = static_cast<size_t>(*count);
  const CommReducerNode& combiner = *reducer_->combiner;
  auto* out = make_stmt<AllReduce>();
  out->origin = n.origin;
  for (size_t i = 0; i < size; ++i) {
    out->values.push_back(expr(n.args[1 + i]));
    out->lhs.push_back(slot(combiner.lhs[i].get()));
    out->rhs.push_back(slot(combiner.rhs[i].get()));
    define(combiner.lhs[i].get());
    define(combiner.rhs[i].get());
  }
  out->condition = int_expr(n.args[1 + size]);
  for (size_t i = 0; i < size; ++i) {
    out->identity.push_back(expr(combiner.identity[i]));
    out->result.push_back(expr(combiner.result[i]));
    // The target is an element of a buffer, or the buffer's data for the first element.
    const Expr& to = n.args[2 + size + i];
    const auto* load = to.as<BufferLoad>();
    if (const auto* address = to.as<Call>(); address && address->op == "address_of" && !address->args.empty()) { load = address->args[0].as<BufferLoad>(); }
    if (!load) {
      unsupported(n.origin, "a reduction across threads into something other than an element of a buffer");
      return make_stmt<Nothing>();
    }
    out->results.push_back(site(load->buffer, load->indices, {}, n.origin, true));
  }
  for (size_t i = 2 + 2 * size; i < n.args.size(); ++i) {
    const auto* v = n.args[i].as<VarNode>();
    auto found = v ? thread_dimensions_.find(v) : thread_dimensions_.end();
    if (found != thread_dimensions_.end()) { out->dimensions.push_back(found->second); }
  }
  return out;
}

auto Compiler::call_function(const Call& n, const std::vector<std::pair<Var, Expr>>& sizes) -> const CallStatement* {
  Name name(n.op.view().substr(1));
  PrimFunc func = module_->find(name);
  if (!func || n.args.size() != func->params.size()) {
    unsupported(n.origin, func ? "a call of `" + name.str() + "` with another number of arguments" : "the function `" + name.str() + "`");
    return nullptr;
  }
  // A recursive function is compiled once; each call has separate variables.
  // Compiling the arguments may change the list of active calls.
  const bool is_recursive = std::find(calling_.begin(), calling_.end(), name) != calling_.end();
  auto* out = make_stmt<CallStatement>();
  out->origin = n.origin;
  for (size_t i = 0; i < func->params.size(); ++i) {
    const Var& param = func->params[i];
    define(param.get());
    Buffer buffer = func->buffer_of(param);
    if (buffer || param->dtype.is_handle()) {
      const auto* load = n.args[i].as<BufferLoad>();
      Expr from = load ? Expr(make<Call>(DataType::handle(), Name("address_of"), Array<Expr>{n.args[i]})) : n.args[i];
      const PointerExpr* p = pointer(from);
      out->pointers.emplace_back(slot(param.get()), p);
      if (buffer) { out->pointers.emplace_back(slot(buffer->data.get()), p); }
    } else {
      // Numbers are converted to the type of the parameter.
      bool is_other = !(n.args[i].dtype() == param->dtype) && !n.args[i].dtype().is_handle() && n.args[i].dtype().is_scalar();
      out->values.emplace_back(slot(param.get()), expr(is_other ? cast(param->dtype, n.args[i]) : n.args[i]));
    }
  }
  for (const auto& [size, value] : sizes) {
    define(size.get());
    out->values.emplace_back(slot(size.get()), expr(value));
  }
  find_implicit(*func);
  for (const auto& [param, buffer] : func->buffer_map) {
    for (const Expr& e : buffer->shape) {
      if (const auto* v = e.as<VarNode>(); v && !is_defined(v)) { unsupported(n.origin, "a call of `" + name.str() + "`: the shape of its argument `" + buffer->name.str() + "` is unknown"); }
    }
    out->bind.push_back(bind_buffer(buffer));
    for (BindBuffer& b : implicit_of(buffer->data.get())) { out->bind.push_back(std::move(b)); }
  }
  for (const Var& param : func->params) { for (BindBuffer& b : implicit_of(param.get())) { out->bind.push_back(std::move(b)); } }
  if (is_recursive) {
    out->recurs = true;
    out->returns_ints = func->ret_type.is_integral();
    out->returns_reals = func->ret_type.is_real();
    recursive_.emplace_back(out, name);
    return out;
  }
  calling_.push_back(name);
  {
    ScopedValue without_blocks(blocks_, std::vector<BlockAround>());
    ScopedValue own_returns(returns_, Returns());
    out->body = statement(func->body);
    out->returns_ints = returns_.ints;
    out->returns_reals = returns_.reals;
  }
  calling_.pop_back();
  enclose(name, out->body);
  return out;
}

void Compiler::enclose(Name function, const Statement* body) {
  for (auto& [call, name] : recursive_) {
    if (name == function && !call->body) { call->body = body; }
  }
}

auto Compiler::atomic_add(const Call& n) -> Code {
  const auto* address = n.args[0].as<Call>();
  const auto* place = address && address->op == "address_of" && address->args.size() == 1 ? address->args[0].as<BufferLoad>() : nullptr;
  if (!place || n.dtype.lanes != 1 || !(place->buffer->dtype == n.dtype)) { return unsupported(n.origin, "an atomic addition to something other than an element of a buffer"); }
  Code value = number(n.args[1], n.origin);
  AccessSite at = site(place->buffer, place->indices, {}, n.origin, true);
  if (n.dtype.is_real() != (value.f != nullptr)) { return unsupported(n.origin, "operands of different kinds"); }
  if (n.dtype.is_real()) {
    auto* add = make_real<AtomicAdd<LoadReal, RealExpr>>();
    add->place.site = std::move(at);
    add->value = value;
    add->type = n.dtype;
    return {nullptr, add, n.dtype};
  }
  auto* add = make_int<AtomicAdd<LoadInt, IntExpr>>();
  add->place.site = std::move(at);
  add->value = value;
  add->type = n.dtype;
  return {add, nullptr, n.dtype};
}

auto Compiler::value_of_function(const Call& n) -> Code {
  const CallStatement* call = call_function(n);
  if (!call) { return {make_int<IntConst>(0), nullptr, n.dtype}; }
  bool is_real = n.dtype.is_real();
  if (n.dtype.lanes != 1 || (is_real ? call->returns_ints || !call->returns_reals : call->returns_reals || !call->returns_ints)) {
    return unsupported(n.origin, "the value of `" + n.op.str().substr(1) + "`, whose type differs from the type of the call");
  }
  if (is_real) {
    auto* out = make_real<CallValue<RealExpr>>();
    out->call = call;
    out->origin = n.origin;
    return {nullptr, out, n.dtype};
  }
  auto* out = make_int<CallValue<IntExpr>>();
  out->call = call;
  out->origin = n.origin;
  return {out, nullptr, n.dtype};
}

auto Compiler::statement(const Stmt& s) -> const Statement* {
  if (++depth_ > max_depth) {
    --depth_;
    unsupported(s.origin(), "statements nested this deeply");
    return make_stmt<Nothing>();
  }
  struct Guard { int& d; ~Guard() { --d; } } guard{depth_};
  switch (s.kind()) {
    case NodeKind::LetStmt: {
      const auto& n = *s.as<LetStmt>();
      if (n.var->dtype.is_handle()) {
        auto* out = make_stmt<PointerStatement>();
        out->value = pointer(n.value);
        out->slot = slot(n.var.get());
        define(n.var.get());
        out->bind = implicit_of(n.var.get());
        out->body = statement(n.body);
        return out;
      }
      auto* out = make_stmt<LetStatement>();
      {
        NewPiece piece(*this);
        out->counter = piece.number();
        out->value = expr(n.value);
      }
      out->lanes = n.var->dtype.lanes;
      out->slot = slot(n.var.get());
      define(n.var.get());
      out->body = scope_of(n.var.get(), n.body);
      return out;
    }
    case NodeKind::AttrStmt: {
      const auto& n = *s.as<AttrStmt>();
      // launch_thread: a loop over the threads.
      if (n.key == "thread_extent" || n.key == "virtual_thread") {
        if (const auto* iter = std::get_if<IterVar>(&n.node)) {
          bool is_thread = is_thread_axis(iter->thread_tag.view());
          if (is_thread && (in_kernel_ || needs_threads(n.body) || allocates_shared(n.body))) { return launch(iter->var, iter->thread_tag, n.value, n.body, n.origin, true); }
          auto* out = make_stmt<Loop>();
          out->name = iter->var->name;
          out->any_order = has_unordered = true;
          out->runner = runner_of(iter->thread_tag.view());
          out->is_launch = n.key == "thread_extent";
          out->slot = slot(iter->var.get());
          define(iter->var.get());
          out->min = make_int<IntConst>(0);
          out->extent = int_expr(n.value);
          out->counter = static_cast<uint32_t>(loops.size());
          loops.push_back({0, {}, iter->var->name, loop_});
          ScopedValue inside(loop_, static_cast<int>(out->counter));
          out->body = scope_of(iter->var.get(), n.body);
          return out;
        }
      }
      if (n.key == "reduce_scope") {
        const auto* subject = std::get_if<Expr>(&n.node);
        ScopedValue inside(reducer_, subject ? subject->as<Reduce>() : nullptr);
        return statement(n.body);
      }
      return statement(n.body);
    }
    case NodeKind::AssertStmt: {
      const auto& n = *s.as<AssertStmt>();
      auto* out = make_stmt<AssertThat>();
      out->condition = int_expr(n.condition);
      if (const auto* text = n.message.as<StringImm>()) { out->message = text->value; }
      out->origin = n.origin;
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::BufferStore: {
      const auto& n = *s.as<BufferStore>();
      NewPiece piece(*this);
      auto* out = make_stmt<Store>();
      out->counter = piece.number();
      out->site = site(n.buffer, n.indices, n.predicate, n.origin, true);
      out->value = expr(n.value);
      out->lanes = n.value.dtype().lanes;
      pieces[piece_].bytes_written += n.buffer->dtype.element_bytes();
      if ((out->value.f != nullptr) != n.buffer->dtype.is_real() || out->value.p) {
        unsupported(n.origin, "a store to `" + n.buffer->name.str() + "` of a value with an unsuitable type");
      }
      return out;
    }
    case NodeKind::BufferRealize: {
      const auto& n = *s.as<BufferRealize>();
      auto* out = make_stmt<AllocateStatement>();
      auto a = make_allocation(n.buffer->data, n.buffer->shape, n.buffer->dtype, n.origin, {});
      out->allocate = std::move(*a);
      out->allocate.bind.push_back(bind_buffer(n.buffer));
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::Allocate: {
      const auto& n = *s.as<Allocate>();
      auto* out = make_stmt<AllocateStatement>();
      auto a = make_allocation(n.data, n.extents, n.dtype, n.origin, {});
      out->allocate = std::move(*a);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::AllocateConst: {
      const auto& n = *s.as<AllocateConst>();
      auto* out = make_stmt<AllocateStatement>();
      auto a = make_allocation(n.data, n.extents, n.dtype, n.origin, n.bytes);
      out->allocate = std::move(*a);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::DeclBuffer: {
      const auto& n = *s.as<DeclBuffer>();
      auto* out = make_stmt<DeclareStatement>();
      out->bind = bind_buffer(n.buffer);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::SeqStmt: {
      auto* out = make_stmt<Sequence>();
      for (const Stmt& x : s.as<SeqStmt>()->seq) { out->items.push_back(statement(x)); }
      return out;
    }
    case NodeKind::Evaluate: return evaluate(*s.as<Evaluate>());
    case NodeKind::IfThenElse: {
      const auto& n = *s.as<IfThenElse>();
      auto* out = make_stmt<Branch>();
      {
        NewPiece piece(*this);
        out->counter = piece.number();
        out->condition = int_expr(n.condition);
        out->origin = n.condition.origin().is_known() ? n.condition.origin() : n.origin;
      }
      out->then_case = statement(n.then_case);
      if (n.else_case) { out->else_case = statement(n.else_case); }
      return out;
    }
    case NodeKind::For: return loop(*s.as<For>());
    case NodeKind::While: {
      const auto& n = *s.as<While>();
      auto* out = make_stmt<WhileLoop>();
      {
        NewPiece piece(*this);
        out->counter = piece.number();
        out->condition = int_expr(n.condition);
      }
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::Break: return make_stmt<FlowStatement>(Flow::Break);
    case NodeKind::Continue: return make_stmt<FlowStatement>(Flow::Continue);
    case NodeKind::Block: {
      // A block without a realize runs as one instance; it must have no iter vars.
      if (const auto* b = s.as<Block>(); !b->iter_vars.empty()) {
        unsupported(b->origin, "block `" + b->name.str() + "`, which is a part of a program (`no_realize=True`): its iter vars have no values");
        return make_stmt<FlowStatement>(Flow::Continue);
      }
      return block(BlockRealize({}, bool_imm(true), s.ref<Block>()));
    }
    case NodeKind::BlockRealize: return block(*s.as<BlockRealize>());
#define EXPR(Kind) case NodeKind::Kind:
#define STMT(Kind)
#include "ir/nodes.def"
      break;
  }
  unsupported(s.origin(), "this statement");
  return make_stmt<Nothing>();
}

}  // namespace loopsmith::interp
