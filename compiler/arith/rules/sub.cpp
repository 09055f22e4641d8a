// Rules of subtraction: cancellation, also inside of minima and maxima; a number minus the multiple below it is a remainder.
// A subtracted constant becomes an added one.
#include "arith/rewrite.h"
#include "arith/rule.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

auto floats_cancel(Rewriter&, const Expr& whole, const Match& m) -> Expr {
  if (is_index_type(whole.dtype()) || !is_read_only(m[slot::x])) { return {}; }
  return zero(whole.dtype());
}
template <uint8_t Gone, uint8_t Left, bool Negative>
auto float_sum_cancels(Rewriter&, const Expr& whole, const Match& m) -> Expr {
  if (is_index_type(whole.dtype()) || !is_read_only(m[Gone])) { return {}; }
  return Negative ? sub(zero(whole.dtype()), m[Left]) : m[Left];
}

}  // namespace

auto sub_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"ramp(b1, s1, lanes) - ramp(b2, s2, lanes)", "ramp(b1 - b2, s1 - s2, lanes)", "", Then::Done, On::Vector},
      {"ramp(b1, s1, lanes) - broadcast(x, lanes)", "ramp(b1 - x, s1, lanes)", "", Then::Done, On::Vector},
      {"broadcast(x, lanes) - ramp(b1, s1, lanes)", "ramp(x - b1, 0 - s1, lanes)", "", Then::Done, On::Vector},
      {"broadcast(x, lanes) - broadcast(y, lanes)", "broadcast(x - y, lanes)", "", Then::Done, On::Vector},

      // Cancellation.
      {"(x + y) - y | (y + x) - y", "x"},
      {"x - (y + x) | x - (x + y)", "0 - y"},
      {"min(x, y) - y | x - max(y, x)", "min(x - y, 0)"},
      {"x - max(x, y) | min(y, x) - y", "min(0, x - y)"},
      {"max(x, y) - y | x - min(y, x)", "max(x - y, 0)"},
      {"x - min(x, y) | max(y, x) - y", "max(0, x - y)"},
      {"x - x", "0"},
      {"x * y - x | y * x - x", "x * (y - 1)"},
      {"x - y * x | x - x * y", "x * (1 - y)"},
      {"x * y - x * z | y * x - x * z | x * y - z * x | y * x - z * x", "x * (y - z)"},
      {"(x + c1) - c2", "x + (c1 - c2)"},
      {"(c1 - x) - (c2 - y)", "(y - x) + (c1 - c2)"},
      {"(x + y) - (x + z) | (x + y) - (z + x) | (y + x) - (z + x) | (y + x) - (x + z)", "y - z"},
      {"min(x + y, z) - x | min(y + x, z) - x", "min(y, z - x)"},
      {"min(z, x + y) - x | min(z, y + x) - x", "min(z - x, y)"},
      {"max(x + y, z) - x | max(y + x, z) - x", "max(y, z - x)"},
      {"max(z, x + y) - x | max(z, y + x) - x", "max(z - x, y)"},
      {"x - min(x + y, z) | x - min(y + x, z)", "max(0 - y, x - z)"},
      {"x - min(z, x + y) | x - min(z, y + x)", "max(x - z, 0 - y)"},
      {"x - max(x + y, z) | x - max(y + x, z)", "min(0 - y, x - z)"},
      {"x - max(z, x + y) | x - max(z, y + x)", "min(x - z, 0 - y)"},
      {"min(x, y) - min(y, x)", "0"},
      {"max(x, y) - max(y, x)", "0"},
      {"min(b1, b2) - min(s1, s2)", "b1 - s1", "eq0((b1 - s1) - (b2 - s2))"},
      {"min(b1, b2) - min(s1, s2)", "b1 - s2", "eq0((b1 - s2) - (b2 - s1))"},
      {"max(b1, b2) - max(s1, s2)", "b1 - s1", "eq0((b1 - s1) - (b2 - s2))"},
      {"max(b1, b2) - max(s1, s2)", "b1 - s2", "eq0((b1 - s2) - (b2 - s1))"},

      // Truncated quotients: x - (x / c) * c is the remainder.
      {"x - truncdiv(x, c1) * c1", "truncmod(x, c1)", "c1 != 0"},
      {"truncdiv(x, c1) * c1 - x", "0 - truncmod(x, c1)", "c1 != 0"},
      {"x - truncdiv(x + y, c1) * c1", "truncmod(x + y, c1) - y", "c1 != 0"},
      {"truncdiv(x + y, c1) * c1 - x", "y - truncmod(x + y, c1)", "c1 != 0"},
      {"x - truncdiv(x - y, c1) * c1", "truncmod(x - y, c1) + y", "c1 != 0"},
      {"truncdiv(x - y, c1) * c1 - x", "0 - truncmod(x - y, c1) - y", "c1 != 0"},
      {"x * c2 - truncdiv(x, c1) * c3", "truncmod(x, c1) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"truncdiv(x, c1) * c3 - x * c2", "0 - truncmod(x, c1) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"x * c2 - truncdiv(x + y, c1) * c3", "(truncmod(x + y, c1) - y) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"truncdiv(x + y, c1) * c3 - x * c2", "(y - truncmod(x + y, c1)) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"x * c2 - truncdiv(x - y, c1) * c3", "(truncmod(x - y, c1) + y) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"truncdiv(x - y, c1) * c3 - x * c2", "(0 - truncmod(x - y, c1) - y) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"truncdiv(x + c1, c3) - truncdiv(x + c2, c3)", "truncdiv(truncmod(x + c2 % c3, c3) + (c1 - c2), c3)",
       "c1 >= c2 and c3 > 0 and ge0(x + c2) and ge0(x + c2 % c3)"},
      {"truncdiv(x + c1, c3) - truncdiv(x + c2, c3)", "truncdiv(truncmod(x + c2, c3) + (c1 - c2), c3)", "c1 >= c2 and c3 > 0 and ge0(x + c2)"},
      {"truncdiv(x + c1, c3) - truncdiv(x, c3)", "truncdiv(truncmod(x, c3) + c1, c3)", "c1 >= 0 and c3 > 0 and ge0(x)"},

      // The same with floor division.
      {"x - x // c1 * c1", "x % c1", "c1 != 0"},
      {"x // c1 * c1 - x", "0 - x % c1", "c1 != 0"},
      {"x - (x + y) // c1 * c1", "(x + y) % c1 - y", "c1 != 0"},
      {"(x + y) // c1 * c1 - x", "y - (x + y) % c1", "c1 != 0"},
      {"x - (x - y) // c1 * c1", "(x - y) % c1 + y", "c1 != 0"},
      {"(x - y) // c1 * c1 - x", "0 - (x - y) % c1 - y", "c1 != 0"},
      {"(x + c1) // 2 - (x + c2) // 2", "x % 2 * (c1 % 2 - c2 % 2) + (c1 // 2 - c2 // 2)", "", Then::Again},
      {"x // 2 - (x + c2) // 2", "x % 2 * (0 - c2 % 2) - c2 // 2", "", Then::Again},
      {"(x + c1) // 2 - x // 2", "x % 2 * (c1 % 2) + c1 // 2", "", Then::Again},
      {"x * c2 - x // c1 * c3", "x % c1 * c2", "c1 != 0 and c3 == c1 * c2"},
      {"x // c1 * c3 - x * c2", "0 - x % c1 * c2", "c1 != 0 and c3 == c1 * c2"},
      {"x * c2 - (x + y) // c1 * c3", "((x + y) % c1 - y) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"(x + y) // c1 * c3 - x * c2", "(y - (x + y) % c1) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"x * c2 - (x - y) // c1 * c3", "((x - y) % c1 + y) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"(x - y) // c1 * c3 - x * c2", "(0 - (x - y) % c1 - y) * c2", "c1 != 0 and c3 == c1 * c2"},
      {"(x + 1) // 2 - x % 2", "x // 2", "", Then::Again},
      {"(x + c1) // c3 - (x + c2) // c3", "((x + c2 % c3) % c3 + (c1 - c2)) // c3", "c3 > 0"},
      {"(x + c1) // c3 - x // c3", "(x % c3 + c1) // c3", "c3 > 0"},

      // Constants to the right, as additions.
      {"x - c1", "x + (0 - c1)"},
      {"(x + c1) - y", "(x - y) + c1", "", Then::Again},
      {"x - (y + c1)", "(x - y) + (0 - c1)", "", Then::Again},
      {"x - (y - z)", "(x + z) - y", "", Then::Again},
      {"x - y * c1", "x + y * (0 - c1)", "", Then::Again},

      // Other types: NaN and infinity are assumed not to occur.
      {"x - x", "", "", Then::Done, On::Any, floats_cancel},
      {"(x + y) - y", "", "", Then::Done, On::Any, float_sum_cancels<slot::y, slot::x, false>},
      {"(x + y) - x", "", "", Then::Done, On::Any, float_sum_cancels<slot::x, slot::y, false>},
      {"x - (y + x)", "", "", Then::Done, On::Any, float_sum_cancels<slot::x, slot::y, true>},
      {"x - (x + y)", "", "", Then::Done, On::Any, float_sum_cancels<slot::x, slot::y, true>},

      {"select(x, b1, b2) - select(x, s1, s2)", "select(x, b1 - s1, b2 - s2)", "", Then::Done, On::Any},
      {"select(x, y, z) - z", "select(x, y - z, 0)", "", Then::Done, On::Any},
      {"select(x, y, z) - y", "select(x, 0, z - y)", "", Then::Done, On::Any},
  });
  return rules;
}

}  // namespace loopsmith::arith
