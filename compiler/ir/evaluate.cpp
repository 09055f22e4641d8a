// Evaluates integer expressions: see evaluate.h.
#include "ir/evaluate.h"

#include <algorithm>

namespace loopsmith {

auto evaluate_integer(const Expr& e, const Valuation& values) -> std::optional<int64_t> {
  if (const auto* n = e.as<IntImm>()) { return n->value; }
  if (const auto* n = e.as<VarNode>()) {
    for (const auto& [var, value] : values) {
      if (var == n) { return value; }
    }
    return {};
  }
  auto with = [&](const BinaryNode& n, const auto& f) -> std::optional<int64_t> {
    auto a = evaluate_integer(n.a, values);
    auto b = a ? evaluate_integer(n.b, values) : std::nullopt;
    // The limit on operands, below which no operation overflows.
    constexpr int64_t most = int64_t{1} << 30;
    if (!a || !b || *a > most || *a < -most || *b > most || *b < -most) { return {}; }
    return f(*a, *b);
  };
  auto floor_div = [](int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); };
  if (const auto* n = e.as<Add>()) { return with(*n, [](int64_t a, int64_t b) { return a + b; }); }
  if (const auto* n = e.as<Sub>()) { return with(*n, [](int64_t a, int64_t b) { return a - b; }); }
  if (const auto* n = e.as<Mul>()) { return with(*n, [](int64_t a, int64_t b) { return a * b; }); }
  if (const auto* n = e.as<Min>()) { return with(*n, [](int64_t a, int64_t b) { return std::min(a, b); }); }
  if (const auto* n = e.as<Max>()) { return with(*n, [](int64_t a, int64_t b) { return std::max(a, b); }); }
  if (const auto* n = e.as<LE>()) { return with(*n, [](int64_t a, int64_t b) { return int64_t{a <= b}; }); }
  if (const auto* n = e.as<LT>()) { return with(*n, [](int64_t a, int64_t b) { return int64_t{a < b}; }); }
  if (const auto* n = e.as<And>()) { return with(*n, [](int64_t a, int64_t b) { return int64_t{a && b}; }); }
  if (const auto* n = e.as<GE>()) { return with(*n, [](int64_t a, int64_t b) { return int64_t{a >= b}; }); }
  if (const auto* n = e.as<GT>()) { return with(*n, [](int64_t a, int64_t b) { return int64_t{a > b}; }); }
  if (const auto* n = e.as<EQ>()) { return with(*n, [](int64_t a, int64_t b) { return int64_t{a == b}; }); }
  if (const auto* n = e.as<NE>()) { return with(*n, [](int64_t a, int64_t b) { return int64_t{a != b}; }); }
  if (const auto* n = e.as<Or>()) { return with(*n, [](int64_t a, int64_t b) { return int64_t{a || b}; }); }
  if (const auto* n = e.as<Not>()) {
    auto a = evaluate_integer(n->a, values);
    return a ? std::optional<int64_t>(*a == 0) : std::nullopt;
  }
  if (const auto* n = e.as<Select>()) {
    auto condition = evaluate_integer(n->condition, values);
    return condition ? evaluate_integer(*condition != 0 ? n->true_value : n->false_value, values) : std::nullopt;
  }
  // Small numbers keep their value in any type of four bytes or more.
  if (const auto* n = e.as<Cast>(); n && e.dtype().is_integral() && e.dtype().lanes == 1 && e.dtype().bits >= 32 && n->value.dtype().is_integral()) {
    auto value = evaluate_integer(n->value, values);
    return value && *value >= 0 && *value < (int64_t{1} << 30) ? value : std::nullopt;
  }
  if (const auto* n = e.as<Call>()) {
    static const Name if_then_else_name("if_then_else"), likely_name("likely");
    if (n->op == likely_name && n->args.size() == 1) { return evaluate_integer(n->args[0], values); }
    if (!(n->op == if_then_else_name) || n->args.size() != 3) { return {}; }
    auto condition = evaluate_integer(n->args[0], values);
    return condition ? evaluate_integer(n->args[*condition != 0 ? 1 : 2], values) : std::nullopt;
  }
  if (const auto* n = e.as<FloorDiv>()) {
    return with(*n, [&](int64_t a, int64_t b) -> std::optional<int64_t> { if (b == 0) { return {}; } return floor_div(a, b); });
  }
  if (const auto* n = e.as<FloorMod>()) {
    return with(*n, [&](int64_t a, int64_t b) -> std::optional<int64_t> { if (b == 0) { return {}; } return a - b * floor_div(a, b); });
  }
  return {};
}

}  // namespace loopsmith
