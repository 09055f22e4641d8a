// Rules of minimum and maximum, a table each. The tables mirror each other, except for rounding: a truncated quotient rounds
// upwards below 0, so it bounds x from one side only. Decisions by constant bounds come first.
#include "arith/rewrite.h"
#include "arith/rule.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

// Decides by bounds that do not overlap.
auto min_by_bounds(Rewriter& rw, const Expr&, const Match& m) -> Expr {
  ConstIntBound a = const_int_bound(rw.state(), m[slot::x]);
  ConstIntBound b = const_int_bound(rw.state(), m[slot::y]);
  if (a.max <= b.min) { return m[slot::x]; }
  if (b.max <= a.min) { return m[slot::y]; }
  return {};
}
auto max_by_bounds(Rewriter& rw, const Expr&, const Match& m) -> Expr {
  ConstIntBound a = const_int_bound(rw.state(), m[slot::x]);
  ConstIntBound b = const_int_bound(rw.state(), m[slot::y]);
  if (a.min >= b.max) { return m[slot::x]; }
  if (b.min >= a.max) { return m[slot::y]; }
  return {};
}

}  // namespace

auto min_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"min(broadcast(x, lanes), broadcast(y, lanes))", "broadcast(min(x, y), lanes)", "", Then::Done, On::Vector},
      {"min(min(x, broadcast(y, lanes)), broadcast(z, lanes))", "min(x, broadcast(min(y, z), lanes))", "", Then::Done, On::Vector},

      {"min(x, x)", "x"},
      {"min(x, y)", "", "", Then::Done, On::Index, min_by_bounds},

      // Operands that differ by a constant.
      {"min(x + c1, x + c2)", "x + c1", "c1 < c2"},
      {"min(x + c1, x + c2)", "x + c2"},
      {"min(x + c1, x) | min(x, x + c1)", "x + c1", "c1 < 0"},
      {"min(x + c1, x) | min(x, x + c1)", "x"},
      {"min(c1 - x, c2 - x)", "c1 - x", "c1 < c2"},
      {"min(c1 - x, c2 - x)", "c2 - x"},

      // Numbers rounded up and down to multiples.
      {"min(truncdiv(x + c1, c2) * c2, x) | min(x, truncdiv(x + c1, c2) * c2) | min((x + c1) // c2 * c2, x) | min(x, (x + c1) // c2 * c2)",
       "x", "c2 > 0 and c1 + 1 == c2"},
      {"min(truncdiv(x + c1, c2) * c2, max(x, c2)) | min(max(x, c2), truncdiv(x + c1, c2) * c2) | "
       "min((x + c1) // c2 * c2, max(x, c2)) | min(max(x, c2), (x + c1) // c2 * c2)",
       "max(x, c2)", "c2 > 0 and c1 + 1 == c2 and ge1(x)"},
      {"min(x, x // c2 * c2) | min(x // c2 * c2, x)", "x // c2 * c2", "c2 > 0"},

      // Minima of minima and maxima.
      {"min(max(x, y), min(x, y)) | min(max(x, y), min(y, x)) | min(min(x, y), max(x, y)) | min(min(x, y), max(y, x)) | "
       "min(min(x, y), x) | min(min(x, y), y) | min(x, min(x, y)) | min(y, min(x, y))",
       "min(x, y)"},
      {"min(max(x, y), x) | min(max(y, x), x) | min(x, max(x, y)) | min(x, max(y, x))", "x"},
      {"min(min(min(x, y), z), y)", "min(min(x, y), z)"},
      {"min(min(min(min(x, y), z), s1), y)", "min(min(min(x, y), z), s1)"},
      {"min(min(min(min(min(x, y), z), s1), s2), y)", "min(min(min(min(x, y), z), s1), s2)"},
      {"min(max(x, y), max(x, z)) | min(max(x, y), max(z, x)) | min(max(y, x), max(x, z)) | min(max(y, x), max(z, x))",
       "max(min(y, z), x)"},
      {"min(min(x, y), min(x, z)) | min(min(x, y), min(z, x)) | min(min(y, x), min(x, z)) | min(min(y, x), min(z, x))",
       "min(min(y, z), x)"},
      {"min(y + x, z + x) | min(y + x, x + z) | min(x + y, x + z) | min(x + y, z + x)", "min(y, z) + x"},
      {"min(y - x, z - x)", "min(y, z) - x"},
      {"min(x - y, x - z)", "x - max(y, z)"},
      {"min(min(x, c1), c2)", "min(x, min(c1, c2))"},

      // Common factors.
      {"min(truncdiv(x, c1), truncdiv(y, c1))", "truncdiv(min(x, y), c1)", "c1 > 0"},
      {"min(truncdiv(x, c1), truncdiv(y, c1))", "truncdiv(max(x, y), c1)"},
      {"min(x // c1, y // c1)", "min(x, y) // c1", "c1 > 0"},
      {"min(x // c1, y // c1)", "max(x, y) // c1"},
      {"min(x * c1, y * c1)", "min(x, y) * c1", "c1 > 0"},
      {"min(x * c1, y * c1)", "max(x, y) * c1"},
      {"min(x * c1, c2)", "min(x, truncdiv(c2, c1)) * c1", "c1 > 0 and c2 % c1 == 0"},
      {"min(x * c1, c2)", "max(x, truncdiv(c2, c1)) * c1", "c1 < 0 and c2 % c1 == 0"},

      {"min(min(x, c1), y)", "min(min(x, y), c1)", "", Then::Again},
      {"min(c1 - x, c2)", "c1 - max(x, c1 - c2)", "c2 != 0", Then::Again},

      {"min(select(x, y, z), select(x, s1, s2))", "select(x, min(y, s1), min(z, s2))", "", Then::Done, On::Any},
  });
  return rules;
}

auto max_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"max(broadcast(x, lanes), broadcast(y, lanes))", "broadcast(max(x, y), lanes)", "", Then::Done, On::Vector},
      {"max(max(x, broadcast(y, lanes)), broadcast(z, lanes))", "max(x, broadcast(max(y, z), lanes))", "", Then::Done, On::Vector},

      {"max(x, x)", "x"},
      {"max(x, y)", "", "", Then::Done, On::Index, max_by_bounds},

      {"max(x + c1, x + c2)", "x + c1", "c1 > c2"},
      {"max(x + c1, x + c2)", "x + c2"},
      {"max(x + c1, x) | max(x, x + c1)", "x + c1", "c1 > 0"},
      {"max(x + c1, x) | max(x, x + c1)", "x"},
      {"max(c1 - x, c2 - x)", "c1 - x", "c1 > c2"},
      {"max(c1 - x, c2 - x)", "c2 - x"},

      {"max(truncdiv(x + c1, c2) * c2, x) | max(x, truncdiv(x + c1, c2) * c2)", "truncdiv(x + c1, c2) * c2", "c2 > 0 and c1 + 1 == c2"},
      {"max((x + c1) // c2 * c2, x) | max(x, (x + c1) // c2 * c2)", "(x + c1) // c2 * c2", "c2 > 0 and c1 + 1 == c2"},
      {"max(x // c2 * c2, x) | max(x, x // c2 * c2)", "x", "c2 > 0"},

      {"max(min(x, y), x) | max(min(y, x), x) | max(x, min(x, y)) | max(x, min(y, x))", "x"},
      {"max(min(x, y), max(x, y)) | max(min(x, y), max(y, x)) | max(max(x, y), min(x, y)) | max(max(x, y), min(y, x)) | "
       "max(max(x, y), x) | max(max(x, y), y) | max(x, max(x, y)) | max(y, max(x, y))",
       "max(x, y)"},
      {"max(max(max(x, y), z), y)", "max(max(x, y), z)"},
      {"max(max(max(max(x, y), z), s1), y)", "max(max(max(x, y), z), s1)"},
      {"max(max(max(max(max(x, y), z), s1), s2), y)", "max(max(max(max(x, y), z), s1), s2)"},
      {"max(max(x, y), max(x, z)) | max(max(x, y), max(z, x)) | max(max(y, x), max(x, z)) | max(max(y, x), max(z, x))",
       "max(max(y, z), x)"},
      {"max(min(x, y), min(x, z)) | max(min(x, y), min(z, x)) | max(min(y, x), min(x, z)) | max(min(y, x), min(z, x))",
       "min(max(y, z), x)"},
      {"max(y + x, z + x) | max(y + x, x + z) | max(x + y, x + z) | max(x + y, z + x)", "max(y, z) + x"},
      {"max(y - x, z - x)", "max(y, z) - x"},
      {"max(x - y, x - z)", "x - min(y, z)"},
      {"max(max(x, c1), c2)", "max(x, max(c1, c2))"},

      {"max(truncdiv(x, c1), truncdiv(y, c1))", "truncdiv(max(x, y), c1)", "c1 > 0"},
      {"max(truncdiv(x, c1), truncdiv(y, c1))", "truncdiv(min(x, y), c1)"},
      {"max(x // c1, y // c1)", "max(x, y) // c1", "c1 > 0"},
      {"max(x // c1, y // c1)", "min(x, y) // c1"},
      {"max(x * c1, y * c1)", "max(x, y) * c1", "c1 > 0"},
      {"max(x * c1, y * c1)", "min(x, y) * c1"},
      {"max(x * c1, c2)", "max(x, truncdiv(c2, c1)) * c1", "c1 > 0 and c2 % c1 == 0"},
      {"max(x * c1, c2)", "min(x, truncdiv(c2, c1)) * c1", "c1 < 0 and c2 % c1 == 0"},

      {"max(max(x, c1), y)", "max(max(x, y), c1)", "", Then::Again},
      {"max(c1 - x, c2)", "c1 - min(x, c1 - c2)", "c2 != 0", Then::Again},

      {"max(select(x, y, z), select(x, s1, s2))", "select(x, max(y, s1), max(z, s2))", "", Then::Done, On::Any},
  });
  return rules;
}

}  // namespace loopsmith::arith
