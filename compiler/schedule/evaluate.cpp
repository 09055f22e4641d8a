// Integer expressions at given values: see evaluate.h.
#include "schedule/evaluate.h"

#include <algorithm>
#include <cstdlib>

namespace loopsmith::schedule {

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
    // Beyond these nothing is decided, so nothing overflows.
    constexpr int64_t most = int64_t{1} << 30;
    if (!a || !b || std::abs(*a) > most || std::abs(*b) > most) { return {}; }
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
  if (const auto* n = e.as<FloorDiv>()) {
    return with(*n, [&](int64_t a, int64_t b) -> std::optional<int64_t> { if (b == 0) { return {}; } return floor_div(a, b); });
  }
  if (const auto* n = e.as<FloorMod>()) {
    return with(*n, [&](int64_t a, int64_t b) -> std::optional<int64_t> { if (b == 0) { return {}; } return a - b * floor_div(a, b); });
  }
  return {};
}

}  // namespace loopsmith::schedule
