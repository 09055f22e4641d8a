// Rules of comparison. Equality and less-than have tables; the others are reduced to these two (rewrite.cpp).
#include "arith/rewrite.h"
#include "arith/rule.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

auto float_equals_itself(Rewriter&, const Expr& whole, const Match& m) -> Expr {
  if (is_index_type(m[slot::x].dtype()) || !is_read_only(m[slot::x])) { return {}; }
  return constant_int(whole.dtype(), 1);
}

// Splits e into (rest, constant).
auto split_constant(const Expr& e) -> std::pair<Expr, int64_t> {
  if (const auto* n = e.as<Add>()) {
    if (const auto* c = n->b.as<IntImm>()) { return {n->a, c->value}; }
  } else if (const auto* s = e.as<Sub>()) {
    if (const auto* c = s->b.as<IntImm>()) { return {s->a, wrap_sub(0, c->value)}; }
  }
  return {e, 0};
}

// Merges the constants of both sides, on the side where the result is positive.
auto merge_constants(Rewriter& rw, const Expr&, const Match& m) -> Expr {
  auto [lhs, lhs_offset] = split_constant(m[slot::x]);
  auto [rhs, rhs_offset] = split_constant(m[slot::y]);
  if (lhs_offset == 0 && rhs_offset == 0) { return {}; }
  int64_t diff = wrap_sub(rhs_offset, lhs_offset);
  __int128 exact = __int128(rhs_offset) - lhs_offset;
  if (!fits(lhs.dtype(), exact) || !fits(lhs.dtype(), -exact)) { return {}; }
  if (diff == 0) { return rw.again(less(lhs, rhs)); }
  if (diff == 1) { return rw.again(less_equal(lhs, rhs)); }
  bool to_left = diff < 0 && rhs_offset != 0, to_right = diff > 0 && lhs_offset != 0;
  // A constant side absorbs the other constant if the result stays in its type.
  const auto* constant = (to_left ? lhs : rhs).as<IntImm>();
  if (constant && !fits(constant->dtype, __int128(constant->value) + (to_left ? -exact : exact))) { return {}; }
  if (to_left) { return rw.again(less(lhs + constant_int(lhs.dtype(), wrap_sub(0, diff)), rhs)); }
  if (to_right) { return rw.again(less(lhs, rhs + constant_int(rhs.dtype(), diff))); }
  return {};
}

auto divide_by_common_factor(Rewriter& rw, const Expr&, const Match& m) -> Expr {
  ModularSet a = modular_set(rw.state(), m[slot::x]);
  if (a.coeff == 1) { return {}; }
  ModularSet b = modular_set(rw.state(), m[slot::y]);
  int64_t factor = gcd_of(gcd_of(a.base, a.coeff), gcd_of(b.base, b.coeff));
  if (factor <= 1) { return {}; }
  Expr divisor = constant_int(m[slot::x].dtype(), factor);
  return rw.again(less(floordiv(m[slot::x], divisor), floordiv(m[slot::y], divisor)));
}

}  // namespace

auto eq_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"broadcast(x, lanes) == broadcast(y, lanes)", "broadcast(x == y, lanes)", "", Then::Done, On::Vector},
      {"c1 == x", "x == c1"},
      {"x - c1 == c2", "x == c2 + c1"},
      {"c1 - x == c2", "x == c1 - c2"},
      {"x + c1 == c2", "x == c2 - c1"},
      {"x * y == 0", "x == 0 or y == 0", "", Then::Again},
      {"x == x", "true"},
      {"x == x", "", "", Then::Done, On::Any, float_equals_itself},
  });
  return rules;
}

auto lt_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"broadcast(x, lanes) < broadcast(y, lanes)", "broadcast(x < y, lanes)", "", Then::Done, On::Vector},
      {"ramp(x, s1, lanes) < ramp(y, s1, lanes)", "broadcast(x < y, lanes)", "", Then::Done, On::Vector},

      // Terms on both sides.
      {"x + y < x + z | x + y < z + x | y + x < x + z | y + x < z + x", "y < z"},
      {"y - x < z - x", "y < z"},
      {"x - y < x - z", "z < y"},
      {"x < x + z | x < z + x", "0 < z"},
      {"x < x - z", "z < 0"},
      {"x * c1 < y * c1", "x < y", "c1 > 0"},
      {"x * c1 < y * c1", "y < x", "c1 < 0"},

      // A constant and a multiple.
      {"x * c2 < c1", "x < truncdiv(c1 - 1, c2) + 1", "c1 > 0 and c2 > 0"},
      {"x * c2 < c1", "x < truncdiv(c1, c2)", "c1 <= 0 and c2 > 0"},
      {"x * c2 < c1", "truncdiv(c1 - 1, c2) - 1 < x", "c1 > 0 and c2 < 0"},
      {"x * c2 < c1", "truncdiv(c1, c2) < x", "c1 <= 0 and c2 < 0"},
      {"c1 < x * c2", "truncdiv(c1 + 1, c2) - 1 < x", "c1 < 0 and c2 > 0"},
      {"c1 < x * c2", "truncdiv(c1, c2) < x", "c1 >= 0 and c2 > 0"},
      {"c1 < x * c2", "x < truncdiv(c1 + 1, c2) + 1", "c1 < 0 and c2 < 0"},
      {"c1 < x * c2", "x < truncdiv(c1, c2)", "c1 >= 0 and c2 < 0"},

      // A constant and a truncated quotient; a number and the multiple below it.
      {"truncdiv(x, c1) < c2", "x < c1 * c2", "c1 > 0 and c2 > 0"},
      {"truncdiv(x, c1) < c2", "x < c1 * (c2 - 1) + 1", "c1 > 0 and c2 <= 0"},
      {"c1 < truncdiv(x, c2)", "(c1 + 1) * c2 - 1 < x", "c1 >= 0 and c2 > 0"},
      {"c1 < truncdiv(x, c2)", "c1 * c2 < x", "c1 < 0 and c2 > 0"},
      {"truncdiv(x, c1) * c1 < x", "0 < truncmod(x, c1)", "c1 > 0"},
      {"truncdiv(x, c1) * c1 < x + y", "0 < truncmod(x, c1) + y", "c1 > 0"},
      {"truncdiv(x, c1) * c1 < x - y", "y < truncmod(x, c1)", "c1 > 0"},
      {"truncdiv(x + c2, c1) * c1 < x", "c2 < truncmod(x + c2, c1)", "c1 > 0"},
      {"truncdiv(x + c2, c1) * c1 < x + y", "c2 < truncmod(x + c2, c1) + y", "c1 > 0"},
      {"truncdiv(x + c2, c1) * c1 < x - y", "y < truncmod(x + c2, c1) + (0 - c2)", "c1 > 0"},

      // The same with floor division.
      {"x // c1 < c2", "x < c1 * c2", "c1 > 0"},
      {"c1 < x // c2", "(c1 + 1) * c2 - 1 < x", "c2 > 0"},
      {"x // c1 * c1 < x", "0 < x % c1", "c1 > 0"},
      {"x // c1 * c1 < x + y", "0 < x % c1 + y", "c1 > 0"},
      {"x // c1 * c1 < x - y", "y < x % c1", "c1 > 0"},
      {"(x + c2) // c1 * c1 < x", "c2 < (x + c2) % c1", "c1 > 0"},
      {"(x + c2) // c1 * c1 < x + y", "c2 < (x + c2) % c1 + y", "c1 > 0"},
      {"(x + c2) // c1 * c1 < x - y", "y < (x + c2) % c1 + (0 - c2)", "c1 > 0"},

      {"min(x, y) < z", "x < z or y < z", "", Then::Again},
      {"max(x, y) < z", "x < z and y < z", "", Then::Again},
      {"z < min(x, y)", "z < x and z < y", "", Then::Again},
      {"z < max(x, y)", "z < x or z < y", "", Then::Again},

      // Constants to one side.
      {"c1 < x + c2 | c1 - x < c2", "c1 - c2 < x", "", Then::Again},
      {"c1 < c2 - x | x + c1 < c2", "x < c2 - c1", "", Then::Again},
      {"c1 < x - c2", "c1 + c2 < x", "", Then::Again},
      {"x - c2 < c1", "x < c1 + c2", "", Then::Again},
      {"x < c1 - y", "x + y < c1", "", Then::Again},
      {"c1 - y < x", "c1 < x + y", "", Then::Again},
      {"x < c1 + y", "x - y < c1", "", Then::Again},
      {"c1 + y < x", "c1 < x - y", "", Then::Again},
      {"x < y", "", "", Then::Done, On::Index, merge_constants},
      {"x < y", "", "", Then::Done, On::Index, divide_by_common_factor},
  });
  return rules;
}

}  // namespace loopsmith::arith
