// Prints calls of intrinsics as C: see printer.h.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "codegen/source/printer.h"
#include "ir/ops.h"
#include "support/reasons.h"

namespace loopsmith::codegen {
namespace {

/// Functions of both dialects on reals; CUDA's take `f` behind their names for float.
constexpr std::array real_functions{
    "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "erf", "erfc", "cbrt", "tgamma", "lgamma", "pow", "atan2", "fmod", "hypot", "nextafter", "floor", "ceil", "trunc", "round", "rint",
    "fabs", "copysign", "fma", "ldexp"};
/// The same functions under other names.
struct Renamed { std::string_view op; std::string_view function; };
constexpr Renamed renamed[] = {{"nearbyint", "rint"}, {"roundeven", "rint"}, {"abs", "fabs"}};

}  // namespace

auto SourcePrinter::maths(const Call& node, std::string_view op, int k) -> std::optional<std::string> {
  for (const Renamed& r : renamed) { if (r.op == op) { op = r.function; } }
  if (std::find(real_functions.begin(), real_functions.end(), op) == real_functions.end()) { return {}; }
  const DataType t = node.dtype.element();
  if (t.bits == 64) { needs_double_ = true; }
  std::string out = std::string(op) + (t.bits == 64 || kind_ == SourceDialect::OpenCl ? "(" : "f(");
  for (size_t i = 0; i < node.args.size(); ++i) { out += (i > 0 ? ", " : "") + lane(node.args[i], node.args[i].dtype().lanes > 1 ? k : 0); }
  return rounded(out + ")", t, primary, primary);
}

auto SourcePrinter::call(const Call& node, int k, int level) -> std::string {
  std::string_view op = node.op.view();
  if (op.starts_with("tir.")) { op.remove_prefix(4); }
  const DataType t = node.dtype.element();
  auto arg = [&](size_t i, int at = ternary) { return lane(node.args[i], node.args[i].dtype().lanes > 1 ? k : 0, at); };
  auto wrong = [&](const Reason& why) { return fail(fmt::format("`{}`", op), why, node.origin); };
  const size_t n = node.args.size();
  if (op == "if_then_else" && n == 3) { return wrap(fmt::format("{} ? {} : {}", arg(0, either), arg(1, either), arg(2)), ternary, level); }
  if ((op == "likely" || op == "ignore_loop_partition") && n == 1) { return arg(0, level); }
  struct Infix { std::string_view op; const char* sign; int level; };
  for (const Infix& i : {Infix{"bitwise_and", "&", bit_and}, Infix{"bitwise_or", "|", bit_or}, Infix{"bitwise_xor", "^", bit_xor}, Infix{"shift_left", "<<", shift}, Infix{"shift_right", ">>", shift}}) {
    if (i.op != op || n != 2) { continue; }
    if (t.is_bool()) { return wrap(fmt::format("({} {} {}) != 0", arg(0, i.level), i.sign, arg(1, i.level + 1)), equality, level); }
    return rounded(fmt::format("{} {} {}", arg(0, prefix), i.sign, arg(1, prefix)), t, i.level, level);
  }
  if (op == "bitwise_not" && n == 1) { return t.is_bool() ? wrap("!" + arg(0, prefix), prefix, level) : rounded("~" + arg(0, prefix), t, prefix, level); }
  if ((op == "max" || op == "min") && n == 2) { return lane(op == "max" ? Expr(make<Max>(node.args[0], node.args[1])) : Expr(make<Min>(node.args[0], node.args[1])), k, level); }
  if (op == "sigmoid" && n == 1 && t.is_real()) { return rounded(need(t.bits == 64 ? "ls_sigmoid_f64" : "ls_sigmoid_f32") + "(" + arg(0) + ")", t, primary, level); }
  if (op == "infinity") { return real(std::numeric_limits<double>::infinity(), t, level, node.origin); }
  if (n == 1 && (op == "isnan" || op == "isinf" || op == "isfinite")) {
    if (node.args[0].dtype().is_integral()) { return op == "isfinite" ? "true" : "false"; }
    // Printed in full, because CUDA's macros need a header.
    std::string x = arg(0, prefix);
    if (op == "isnan") { return wrap(fmt::format("{} != {}", x, x), equality, level); }
    std::string infinite = real(std::numeric_limits<double>::infinity(), node.args[0].dtype().element(), primary, node.origin);
    std::string magnitude = fmt::format("fabs{}({})", node.args[0].dtype().bits == 64 || kind_ == SourceDialect::OpenCl ? "" : "f", arg(0));
    return wrap(op == "isinf" ? fmt::format("{} == {}", magnitude, infinite) : fmt::format("{} < {}", magnitude, infinite), comparison, level);
  }
  if (n == 1 && t.is_integral() && (op == "popcount" || op == "clz") && node.args[0].dtype().bits >= 32) {
    const bool is_long = node.args[0].dtype().bits == 64;
    if (kind_ == SourceDialect::OpenCl) { return wrap(fmt::format("(int){}({})", op, arg(0)), prefix, level); }
    return fmt::format("__{}{}({})", op == "popcount" ? "popc" : "clz", is_long ? "ll" : "", arg(0));
  }
  if (n == 1 && (op == "abs" || op == "fabs") && t.is_integral()) {
    std::string x = arg(0, prefix);
    return rounded(fmt::format("{} < 0 ? -{} : {}", x, x, x), t, ternary, std::max(level, int(either)));
  }
  if (op == "reinterpret" && n == 1) {
    const DataType from = node.args[0].dtype().element();
    if (t == from) { return arg(0, level); }
    if (t.is_float() && t.bits == 32 && from.is_integral() && from.bits == 32) { return need("ls_from_bits_f32") + "(" + arg(0) + ")"; }
    if (t.is_integral() && t.bits == 32 && from.is_float() && from.bits == 32) { return wrap(fmt::format("({}){}({})", value_type(t, node.origin), need("ls_bits_f32"), arg(0)), prefix, level); }
    if (t.is_integral() && from.is_integral()) { return wrap(fmt::format("({}){}", value_type(t, node.origin), arg(0, prefix)), prefix, level); }
    if (is_int(int_imm(t.bits), 16) && t.is_real() && from.is_integral()) { return from_memory(t, arg(0)); }
    if (from.bits == 16 && from.is_real() && t.is_integral()) { return to_memory(from, arg(0)); }
    if (t.bits == from.bits && t.is_real() && from.is_integral() && has_short_real(t)) { return from_memory(t, arg(0)); }
    if (t.bits == from.bits && from.is_real() && t.is_integral() && has_short_real(from)) { return to_memory(from, arg(0)); }
    return wrong(because(Why::NoTextOfTypes).arg("from", from.str()).arg("to", t.str()));
  }
  if (op == "q_multiply_shift" && n == 4 && t.bits == 32) {
    return fmt::format("{}({}, {}, {} - {})", need("ls_multiply_shift"), arg(0), arg(1), arg(2, sum), arg(3, product));
  }
  if (op == "address_of" && n >= 1) {
    const auto* element = node.args[0].as<BufferLoad>();
    if (element && element->indices.size() == 1) { return wrap(fmt::format("&{}[{}]", pointer(element->buffer), scalar(element->indices[0])), prefix, level); }
    return wrong(because(Why::NotAnElement));
  }
  if (op == "atomic_add" && n == 2 && t.bits == 32 && (t.is_float() || t.is_integral())) { return atomic_add(node.args[0], node.args[1], t); }
  if (auto text = device_call(node, op)) { return *text; }
  if (auto text = atomic_of_cuda(node, op)) { return *text; }
  if ((op == "call_extern" || op == "call_pure_extern") && n >= 1 && node.args[0].as<StringImm>()) {
    std::string out = node.args[0].as<StringImm>()->value + "(";
    for (size_t i = 1; i < n; ++i) { out += (i > 1 ? ", " : "") + arg(i); }
    return out + ")";
  }
  if (t.is_real()) {
    if (auto text = maths(node, op, k)) { return *text; }
  }
  return wrong(because(Why::NoTextInDialect).arg("dialect", dialect_.name));
}

}  // namespace loopsmith::codegen
