// The compiler from TIR to closures: expressions and calls. See compiler.h.
#include <algorithm>
#include <limits>

#include "interp/compiler.h"
#include "interp/copies.h"
#include "interp/expressions.h"
#include "interp/host.h"
#include "interp/threads.h"
#include "ir/calls.h"
#include "ir/operations.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/scoped_value.h"

namespace loopsmith::interp {

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
    case NodeKind::VarNode: return variable(*e.as<VarNode>());
    case NodeKind::IntImm: return {make_int<IntConst>(e.as<IntImm>()->value), nullptr, t};
    case NodeKind::FloatImm: return {nullptr, make_real<RealConst>(round_to(t, e.as<FloatImm>()->value)), t};
    case NodeKind::StringImm: return {make_int<IntConst>(0), nullptr, t};
    case NodeKind::Cast: return converted(*e.as<Cast>());
    case NodeKind::Add: return binary<AddOp>(*e.as<Add>());
    case NodeKind::Sub: return binary<SubOp>(*e.as<Sub>());
    case NodeKind::Mul: return binary<MulOp>(*e.as<Mul>());
    case NodeKind::Div: return division<DivOp>(*e.as<Div>());
    case NodeKind::Mod: return division<ModOp>(*e.as<Mod>());
    case NodeKind::FloorDiv: return division<FloorDivOp>(*e.as<FloorDiv>());
    case NodeKind::FloorMod: return division<FloorModOp>(*e.as<FloorMod>());
    case NodeKind::Min: return extreme(*e.as<Min>(), false);
    case NodeKind::Max: return extreme(*e.as<Max>(), true);
    case NodeKind::EQ: return comparison<EqOp, UnsignedEqOp>(*e.as<EQ>());
    case NodeKind::NE: return comparison<NeOp, UnsignedNeOp>(*e.as<NE>());
    case NodeKind::LT: return comparison<LtOp, UnsignedLtOp>(*e.as<LT>());
    case NodeKind::LE: return comparison<LeOp, UnsignedLeOp>(*e.as<LE>());
    case NodeKind::GT: return comparison<GtOp, UnsignedGtOp>(*e.as<GT>());
    case NodeKind::GE: return comparison<GeOp, UnsignedGeOp>(*e.as<GE>());
    case NodeKind::And: return {make_int<IntBinary<AndOp, Width::W64>>(int_expr(e.as<And>()->a), int_expr(e.as<And>()->b), t), nullptr, t};
    case NodeKind::Or: return {make_int<IntBinary<OrOp, Width::W64>>(int_expr(e.as<Or>()->a), int_expr(e.as<Or>()->b), t), nullptr, t};
    case NodeKind::Not: return {make_int<NotExpr>(int_expr(e.as<Not>()->a)), nullptr, t};
    case NodeKind::Select: return choice(*e.as<Select>());
    case NodeKind::BufferLoad: return element(*e.as<BufferLoad>());
    case NodeKind::Ramp: {
      const auto& n = *e.as<Ramp>();
      return {make_int<RampExpr>(int_expr(n.base), int_expr(n.stride), t.element()), nullptr, t};
    }
    case NodeKind::Broadcast: {
      Code a = expr(e.as<Broadcast>()->value);
      a.type = t;
      return a;
    }
    case NodeKind::Shuffle: return lanes_of(*e.as<Shuffle>());
    case NodeKind::Let: return let(*e.as<Let>());
    case NodeKind::Call: return call(*e.as<Call>());
    case NodeKind::Reduce: return reduction(*e.as<Reduce>());
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      break;
  }
  return unsupported(e.origin(), "this expression");
}

auto Compiler::variable(const VarNode& n) -> Code {
  DataType t = n.dtype;
  uint32_t s = slot(&n);
  if (t.is_handle()) { return make_pointer<PointerVar>(s); }
  if (t.is_real()) {
    return t.lanes > 1 ? Code{nullptr, make_real<VarRef<RealExpr, true>>(s), t} : Code{nullptr, make_real<VarRef<RealExpr, false>>(s), t};
  }
  return t.lanes > 1 ? Code{make_int<VarRef<IntExpr, true>>(s), nullptr, t} : Code{make_int<VarRef<IntExpr, false>>(s), nullptr, t};
}

auto Compiler::converted(const Cast& n) -> Code {
  DataType t = n.dtype;
  Code a = number(n.value, n.origin);
  DataType to = t.element();
  if (to.is_real()) {
    if (a.i) { return {nullptr, make_real<IntToReal>(a.i, a.type.element(), to), t}; }
    return {nullptr, make_real<RealToReal>(a.f, to), t};
  }
  if (a.i) { return {make_int<IntToInt>(a.i, to), nullptr, t}; }
  return {make_int<RealToInt>(a.f, to), nullptr, t};
}

auto Compiler::extreme(const BinaryNode& n, bool max) -> Code {
  DataType t = n.dtype;
  if (t.is_uint() && t.bits == 64) {
    Code a = expr(n.a);
    Code b = expr(n.b);
    if (max) { return {make_int<IntBinary<UnsignedPick<true>, Width::W64>>(a.i, b.i, t), nullptr, t}; }
    return {make_int<IntBinary<UnsignedPick<false>, Width::W64>>(a.i, b.i, t), nullptr, t};
  }
  return max ? binary<MaxOp>(n) : binary<MinOp>(n);
}

auto Compiler::choice(const Select& n) -> Code {
  DataType t = n.dtype;
  const IntExpr* c = int_expr(n.condition);
  Code a = expr(n.true_value);
  Code b = expr(n.false_value);
  if (a.i && b.i) { return {make_int<Choose<IntExpr, true>>(c, a.i, b.i), nullptr, t}; }
  if (a.f && b.f) { return {nullptr, make_real<Choose<RealExpr, true>>(c, a.f, b.f), t}; }
  return unsupported(n.origin, "a choice between different kinds");
}

auto Compiler::element(const BufferLoad& n) -> Code {
  DataType t = n.dtype;
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

auto Compiler::lanes_of(const Shuffle& n) -> Code {
  DataType t = n.dtype;
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

auto Compiler::let(const Let& n) -> Code {
  DataType t = n.dtype;
  if (n.value.dtype().lanes > 1) { return expr(substitute(n.body, {{n.var.get(), n.value}})); }
  Code value = expr(n.value);
  uint32_t s = slot(n.var.get());
  Code body = expr(n.body);
  if (body.i) { return {make_int<LetExpr<IntExpr>>(s, value.i, value.f, body.i), nullptr, t}; }
  return {nullptr, make_real<LetExpr<RealExpr>>(s, value.i, value.f, body.f), t};
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
      {"texture2d_", "its first argument is not a buffer of pixels with four numbers each"},
      {"nd_mem_alloc_with_scope", "it is not bound to a name, or its shape is not a `T.tvm_stack_make_shape(...)`"}, {"masked_", "its pointer has no element type, or another one than the value"}};
  for (auto [begin, why] : rows) {
    if (op.starts_with(begin)) { return std::string(": ") + why; }
  }
  return {};
}

}  // namespace

// A choice of which only one value is evaluated.
auto Compiler::conditional(const Call& n) -> Code {
  DataType t = n.dtype;
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

auto Compiler::reinterpretation(const Call& n) -> Code {
  DataType t = n.dtype;
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

// Calls with a meaning of their own, which are not functions of their arguments. None: another call.
auto Compiler::special_call(const Call& n) -> std::optional<Code> {
  DataType t = n.dtype;
  static const Name if_then_else("if_then_else"), likely("likely"), reinterpret("reinterpret"), ret("ret"), large("large_uint_imm"),
      address_of("address_of"), access_ptr("tvm_access_ptr"), offset_pointer("handle_add_byte_offset"), shuffle("tvm_warp_shuffle"),
      shuffle_up("tvm_warp_shuffle_up"), shuffle_down("tvm_warp_shuffle_down"), active_mask("tvm_warp_activemask"), vscale("vscale"), undef("undef");
  if (n.op == if_then_else && n.args.size() == 3) { return conditional(n); }
  static const Name no_partition("ignore_loop_partition"), infinity("infinity");
  if (n.op == infinity && n.args.empty()) { return expr(float_imm(std::numeric_limits<double>::infinity(), t, n.origin)); }
  if ((n.op == likely || n.op == ret || n.op == no_partition) && n.args.size() == 1) { return expr(n.args[0]); }
  if (n.op == large && n.args.size() == 2) {
    auto low = as_int(n.args[0]);
    auto high = as_int(n.args[1]);
    if (low && high) { return Code{make_int<IntConst>(static_cast<int64_t>((static_cast<uint64_t>(*high) << 32) | static_cast<uint64_t>(*low))), nullptr, t}; }
  }
  if (n.op == reinterpret && n.args.size() == 1) { return reinterpretation(n); }
  if (n.op == address_of || n.op == access_ptr || n.op == offset_pointer) {
    const PointerExpr* p = pointer(Expr(Ref<Call>(&n)));
    return Code{nullptr, nullptr, t, p};
  }
  if (n.op == shuffle || n.op == shuffle_up || n.op == shuffle_down) { return shuffle_between_threads(n); }
  if (n.op.view().starts_with("@")) { return value_of_function(n); }
  if (n.op == "atomic_add" && n.args.size() == 2) { return atomic_add(n); }
  if (const PointerExpr* p = t.is_handle() ? host_pointer(n) : nullptr) { return Code{nullptr, nullptr, t, p}; }
  if (auto host = host_value(n)) { return host; }
  // The interpreted machine has the shortest scalable vectors: `vscale` is 1.
  if (n.op == vscale && n.args.empty()) { return Code{make_int<IntConst>(1), nullptr, t}; }
  if (n.op == undef && n.args.empty()) { return t.is_real() ? Code{nullptr, make_real<RealConst>(0), t} : Code{make_int<IntConst>(0), nullptr, t}; }
  if (n.op == active_mask) { return Code{make_int<IntConst>(0xFFFFFFFF), nullptr, t}; }
  return std::nullopt;
}

auto Compiler::call(const Call& n) -> Code {
  if (auto special = special_call(n)) { return *special; }
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
  std::vector<Code> args;
  for (size_t i = first; i < n.args.size(); ++i) { args.push_back(expr(n.args[i])); }
  if (auto code = function_call(name, std::move(args), n.dtype)) { return *code; }
  return unsupported(n.origin, "the intrinsic `" + name.str() + "`" + why_unknown(n.op.view()));
}

// A function of numbers or a machine instruction, by its name; none: unknown.
auto Compiler::function_call(Name name, std::vector<Code> args, DataType t) -> std::optional<Code> {
  static const Name ldexp("ldexp");
  if (name == ldexp && args.size() == 2 && args[0].f && args[1].i) {
    const DataType real = DataType::float_(64);
    args[1] = Code{nullptr, make_real<IntToReal>(args[1].i, args[1].type.element(), real), real};
  }
  bool all_real = std::all_of(args.begin(), args.end(), [](const Code& c) { return c.f != nullptr; });
  bool all_int = std::all_of(args.begin(), args.end(), [](const Code& c) { return c.i != nullptr; });
  if (!args.empty() && all_real && args.size() <= 4) {
    if (t.is_real()) {
      if (RealInstruction instruction = find_real_instruction(name.view(), args.size())) {
        auto* r = make_real<RealInstructionCall>();
        r->instruction = instruction;
        r->args = std::move(args);
        r->type = t;
        return Code{nullptr, r, t};
      }
      if (RealFunction function = find_real_function(name, args.size())) {
        auto* r = make_real<RealCall>();
        r->function = function;
        for (const Code& c : args) { r->args.push_back(c.f); }
        r->type = t.element();
        return Code{nullptr, r, t};
      }
    } else if (args.size() == 1) {
      if (RealFunction function = find_real_predicate(name)) {
        auto* r = make_int<RealPredicate>();
        r->function = function;
        r->arg = args[0].f;
        r->type = args[0].type.element();
        return Code{r, nullptr, t};
      }
    }
  }
  if (all_int && args.size() <= 7 && !t.is_real()) {
    if (IntFunction function = find_int_function(name, args.size())) {
      auto* r = make_int<IntCall>();
      r->function = function;
      for (const Code& c : args) { r->args.push_back(c.i); }
      r->type = t.element();
      return Code{r, nullptr, t};
    }
  }
  if (all_int && t.is_integral()) {
    std::vector<DataType> types;
    for (const Code& c : args) { types.push_back(c.type); }
    if (Instruction instruction = find_instruction(name.view(), types)) {
      auto* r = make_int<InstructionCall>();
      r->instruction = instruction;
      r->args = std::move(args);
      r->type = t;
      return Code{r, nullptr, t};
    }
  }
  return std::nullopt;
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

}  // namespace loopsmith::interp
