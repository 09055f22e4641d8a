// Prints expressions as C: see printer.h.
#include <cmath>

#include <fmt/format.h>

#include "codegen/source/printer.h"
#include "ir/ops.h"
#include "support/reasons.h"

namespace loopsmith::codegen {
namespace {

auto is_short_real(DataType t) -> bool { return t.is_real() && t.bits < 32; }
auto suffix_of(DataType t) -> const char* {
  if (t.is_float()) { return t.bits == 64 ? "f64" : "f32"; }
  if (t.is_real()) { return "f32"; }
  if (t.is_uint() && t.bits == 64) { return "u64"; }
  return t.bits == 64 || (t.is_uint() && t.bits == 32) ? "i64" : "i32";
}

}  // namespace

auto SourcePrinter::lane(const Expr& e, int k, int level) -> std::string {
  if (failure_) { return "0"; }
  switch (e.kind()) {
    case NodeKind::VarNode: {
      const auto& v = *e.as<VarNode>();
      if (auto let = lets_.find(&v); let != lets_.end()) { return lane(Expr(let->second), k, level); }
      return v.dtype.lanes > 1 ? fmt::format("{}_{}", name_of(v), k) : name_of(v);
    }
    case NodeKind::IntImm: return integer(e.as<IntImm>()->value, e.dtype(), level);
    case NodeKind::FloatImm: return real(e.as<FloatImm>()->value, e.dtype(), level, e.origin());
    case NodeKind::StringImm: return fail("a string", because(Why::NoStrings), e.origin());
    case NodeKind::Cast: return cast_to(e.dtype(), e.as<Cast>()->value.dtype(), lane(e.as<Cast>()->value, k, prefix), level);
    case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::Min: case NodeKind::Max:
      return binary(*static_cast<const BinaryNode*>(e.get()), k, level);
    case NodeKind::Div: case NodeKind::Mod: case NodeKind::FloorDiv: case NodeKind::FloorMod: return divide(*static_cast<const BinaryNode*>(e.get()), k, level);
    case NodeKind::EQ: case NodeKind::NE: case NodeKind::LT: case NodeKind::LE: case NodeKind::GT: case NodeKind::GE: case NodeKind::And: case NodeKind::Or:
      return compare(*static_cast<const BinaryNode*>(e.get()), k, level);
    case NodeKind::Not: return wrap("!" + lane(e.as<Not>()->a, k, prefix), prefix, level);
    case NodeKind::Select: {
      const auto& n = *e.as<Select>();
      return wrap(fmt::format("{} ? {} : {}", lane(n.condition, k, either), lane(n.true_value, k, either), lane(n.false_value, k, ternary)), ternary, level);
    }
    case NodeKind::BufferLoad: return load(*e.as<BufferLoad>(), k, level);
    case NodeKind::Ramp: {
      const auto& n = *e.as<Ramp>();
      return k == 0 ? scalar(n.base, level) : scalar(add(n.base, mul(n.stride, int_imm(k, n.stride.dtype()))), level);
    }
    case NodeKind::Broadcast: {
      const Expr& value = e.as<Broadcast>()->value;
      return lane(value, k % value.dtype().lanes, level);
    }
    case NodeKind::Shuffle: {
      const auto& n = *e.as<Shuffle>();
      auto at = static_cast<size_t>(k) < n.indices.size() ? as_int(n.indices[static_cast<size_t>(k)]) : std::nullopt;
      if (!at) { return fail("a shuffle", because(Why::LanesNotConstant), e.origin()); }
      for (const Expr& v : n.vectors) {
        if (*at < v.dtype().lanes) { return lane(v, static_cast<int>(*at), level); }
        *at -= v.dtype().lanes;
      }
      return fail("a shuffle", because(Why::LaneBeyondVectors), e.origin());
    }
    case NodeKind::Let: {
      const auto& n = *e.as<Let>();
      lets_.emplace(n.var.get(), n.value);
      return lane(n.body, k, level);
    }
    case NodeKind::Call: return call(*e.as<Call>(), k, level);
    case NodeKind::Reduce: return fail("a reduction in an expression", because(Why::NotLowered), e.origin());
    default: return fail("a statement in place of an expression", because(Why::NotAnExpression), e.origin());
  }
}

auto SourcePrinter::rounded(std::string value, DataType dtype, int at, int level) -> std::string {
  const DataType t = dtype.element();
  if (t.is_float() && t.bits == 16) { return need("ls_round_f16") + "(" + value + ")"; }
  if (t.is_bfloat16()) { return need("ls_round_bf16") + "(" + value + ")"; }
  if (is_short_real(t)) {
    if (!has_short_real(t)) { return fail(fmt::format("a value of type `{}`", t.str()), because(Why::NoTextForType), {}); }
    return fmt::format("{}({}({}))", load_short(t), store_short(t), value);
  }
  if (t.is_integral() && t.bits < 8 && !t.is_bool()) {
    return t.is_uint() ? wrap(fmt::format("({})({} & {})", value_type(t, {}), "(" + value + ")", (1 << t.bits) - 1), prefix, level)
                       : wrap(fmt::format("({})((int)((unsigned)({}) << {}) >> {})", value_type(t, {}), value, 32 - t.bits, 32 - t.bits), prefix, level);
  }
  if (t.is_integral() && t.bits < 32) { return wrap(fmt::format("({})({})", value_type(t, {}), value), prefix, level); }
  return wrap(std::move(value), at, level);
}

auto SourcePrinter::binary(const BinaryNode& node, int k, int level) -> std::string {
  const DataType t = node.dtype.element();
  if (node.kind == NodeKind::Min || node.kind == NodeKind::Max) {
    const std::string function = need(fmt::format("ls_{}_{}", node.kind == NodeKind::Min ? "min" : "max", suffix_of(t)));
    std::string out = fmt::format("{}({}, {})", function, lane(node.a, k), lane(node.b, k));
    // The function may compute in a wider type.
    return t.is_integral() && (t.bits < 32 || (t.is_uint() && t.bits == 32)) ? wrap(fmt::format("({}){}", value_type(t, node.origin), out), prefix, level) : out;
  }
  const int own = node.kind == NodeKind::Mul ? product : sum;
  const char* sign = node.kind == NodeKind::Mul ? "*" : node.kind == NodeKind::Add ? "+" : "-";
  // Reals keep their order, so the right operand binds tighter.
  return rounded(fmt::format("{} {} {}", lane(node.a, k, own), sign, lane(node.b, k, own + 1)), t, own, level);
}

auto SourcePrinter::divide(const BinaryNode& node, int k, int level) -> std::string {
  const DataType t = node.dtype.element();
  const bool is_mod = node.kind == NodeKind::Mod || node.kind == NodeKind::FloorMod;
  const bool is_floor = node.kind == NodeKind::FloorDiv || node.kind == NodeKind::FloorMod;
  if (t.is_real()) {
    if (!is_mod && !is_floor) { return rounded(fmt::format("{} / {}", lane(node.a, k, product), lane(node.b, k, prefix)), t, product, level); }
    const char* f = t.bits == 64 || kind_ == SourceDialect::OpenCl ? "" : "f";
    std::string quotient = fmt::format("floor{}({} / {})", f, lane(node.a, k, product), lane(node.b, k, prefix));
    if (!is_mod) { return rounded(quotient, t, primary, level); }
    if (!is_floor) { return rounded(fmt::format("fmod{}({}, {})", f, lane(node.a, k), lane(node.b, k)), t, primary, level); }
    return rounded(fmt::format("{} - {} * {}", lane(node.a, k, sum), quotient, lane(node.b, k, prefix)), t, sum, level);
  }
  if (is_floor && t.is_int() && !(is_nonnegative(node.a) && is_nonnegative(node.b))) {
    return rounded(fmt::format("{}({}, {})", need(fmt::format("ls_floor{}_{}", is_mod ? "mod" : "div", t.bits == 64 ? "i64" : "i32")), lane(node.a, k), lane(node.b, k)), t, primary, level);
  }
  return rounded(fmt::format("{} {} {}", lane(node.a, k, product), is_mod ? "%" : "/", lane(node.b, k, prefix)), t, product, level);
}

auto SourcePrinter::compare(const BinaryNode& node, int k, int level) -> std::string {
  struct Operator { const char* sign; int level; };
  Operator op = node.kind == NodeKind::EQ   ? Operator{"==", equality}
                : node.kind == NodeKind::NE ? Operator{"!=", equality}
                : node.kind == NodeKind::LT ? Operator{"<", comparison}
                : node.kind == NodeKind::LE ? Operator{"<=", comparison}
                : node.kind == NodeKind::GT ? Operator{">", comparison}
                : node.kind == NodeKind::GE ? Operator{">=", comparison}
                : node.kind == NodeKind::And ? Operator{"&&", both}
                                             : Operator{"||", either};
  return wrap(fmt::format("{} {} {}", lane(node.a, k, op.level), op.sign, lane(node.b, k, op.level + 1)), op.level, level);
}

auto SourcePrinter::cast_to(DataType to, DataType from, std::string value, int level) -> std::string {
  to = to.element();
  from = from.element();
  if (to == from) { return value; }
  if (to.is_bool()) { return wrap(fmt::format("{} != 0", value), equality, level); }
  if (is_short_real(to)) {
    // From a wider real or an integer: rounds once to float32 and once to the short type, as everywhere in Loopsmith.
    std::string wide = from.is_real() && from.bits <= 32 ? value : fmt::format("(float)({})", value);
    return rounded(std::move(wide), to, prefix, level);
  }
  if (to.is_integral() && to.bits < 8) { return rounded(fmt::format("(int)({})", value), to, prefix, level); }
  return wrap(fmt::format("({}){}", value_type(to, {}), value), prefix, level);
}

auto SourcePrinter::integer(int64_t value, DataType dtype, int level) -> std::string {
  if (dtype.is_bool()) { return value ? "true" : "false"; }
  const bool is_long = dtype.bits == 64;
  const std::string long_suffix(dialect_.long_suffix);
  if (dtype.is_uint()) { return fmt::format("{}u{}", dtype.bits == 64 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t(1) << dtype.bits) - 1), is_long ? long_suffix : ""); }
  // The least integer has no literal.
  if (is_long && value == INT64_MIN) { return fmt::format("(-{}{} - 1)", INT64_MAX, long_suffix); }
  if (!is_long && value == INT32_MIN) { return "(-2147483647 - 1)"; }
  return wrap(fmt::format("{}{}", value, is_long ? long_suffix : ""), value < 0 ? prefix : primary, level);
}

auto SourcePrinter::real(double value, DataType dtype, int level, Origin origin) -> std::string {
  if (is_short_real(dtype) && dtype.bits != 16 && !has_short_real(dtype)) { return fail(fmt::format("a value of type `{}`", dtype.str()), because(Why::NoTextForType), origin); }
  const bool is_double = dtype.bits == 64;
  needs_double_ = needs_double_ || is_double;
  if (std::isnan(value) || std::isinf(value)) {
    std::string bits = std::isnan(value) ? "0x7fc00000u" : value > 0 ? "0x7f800000u" : "0xff800000u";
    std::string out = need("ls_from_bits_f32") + "(" + bits + ")";
    return is_double ? wrap("(double)" + out, prefix, level) : out;
  }
  std::string digits = is_double ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (digits.find_first_of(".e") == std::string::npos) { digits += ".0"; }
  if (!is_double) { digits += "f"; }
  return wrap(std::move(digits), std::signbit(value) ? prefix : primary, level);
}

auto SourcePrinter::load(const BufferLoad& node, int k, int level) -> std::string {
  if (auto known = loaded_.find(&node); known != loaded_.end()) { return known->second[static_cast<size_t>(k)]; }
  const DataType t = node.buffer->dtype;
  if (node.indices.size() != 1) { return fail(fmt::format("an access of `{}`", node.buffer->name.str()), because(Why::NotOneIndex), node.origin); }
  std::string element;
  if (t.lanes > 1) {
    // Elements that are vectors: lane k of element i.
    const int inner = k % t.lanes;
    element = from_memory(t.element(), fmt::format("{}[{} * {} + {}]", pointer(node.buffer), lane(node.indices[0], k / t.lanes, product), t.lanes, inner));
  } else {
    element = from_memory(t, fmt::format("{}[{}]", pointer(node.buffer), lane(node.indices[0], k)));
  }
  if (!node.predicate) { return element; }
  return wrap(fmt::format("{} ? {} : {}", lane(node.predicate, k, either), element, t.is_real() ? real(0, t.element(), either, node.origin) : "0"), ternary, level);
}

auto SourcePrinter::is_nonnegative(const Expr& e) const -> bool {
  if (e.dtype().is_uint()) { return true; }
  switch (e.kind()) {
    case NodeKind::IntImm: return e.as<IntImm>()->value >= 0;
    case NodeKind::VarNode: {
      if (auto let = lets_.find(e.as<VarNode>()); let != lets_.end()) { return is_nonnegative(Expr(let->second)); }
      return nonnegative_.contains(e.as<VarNode>());
    }
    case NodeKind::Add: case NodeKind::Mul: case NodeKind::Div: case NodeKind::FloorDiv: case NodeKind::Mod: case NodeKind::Min: {
      const auto& n = *static_cast<const BinaryNode*>(e.get());
      return is_nonnegative(n.a) && is_nonnegative(n.b);
    }
    case NodeKind::FloorMod: return is_nonnegative(e.as<FloorMod>()->b);
    case NodeKind::Max: return is_nonnegative(e.as<Max>()->a) || is_nonnegative(e.as<Max>()->b);
    case NodeKind::Cast: return e.dtype().bits >= 32 && is_nonnegative(e.as<Cast>()->value) && e.as<Cast>()->value.dtype().bits <= e.dtype().bits;
    case NodeKind::Ramp: return is_nonnegative(e.as<Ramp>()->base) && is_nonnegative(e.as<Ramp>()->stride);
    case NodeKind::Broadcast: return is_nonnegative(e.as<Broadcast>()->value);
    default: return false;
  }
}

}  // namespace loopsmith::codegen
