// Rules of addition: cancellation, collecting terms, joining a quotient with its remainder. Constants end up at the right.
#include "arith/rule.h"

namespace loopsmith::arith {

auto add_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"ramp(b1, s1, lanes) + ramp(b2, s2, lanes)", "ramp(b1 + b2, s1 + s2, lanes)", "", Then::Done, On::Vector},
      {"ramp(b1, s1, lanes) + broadcast(x, lanes)", "ramp(b1 + x, s1, lanes)", "", Then::Done, On::Vector},
      {"broadcast(x, lanes) + ramp(b1, s1, lanes)", "ramp(x + b1, s1, lanes)", "", Then::Done, On::Vector},
      {"broadcast(x, lanes) + broadcast(y, lanes)", "broadcast(x + y, lanes)", "", Then::Done, On::Vector},

      // Cancellation.
      {"(x - y) + y", "x"},
      {"x + (y - x)", "y"},
      {"(x - y) + (y - z)", "x - z"},
      {"(x - y) + (z - x)", "z - y"},
      {"min(x, y - z) + z", "min(x + z, y)"},
      {"min(x - z, y) + z", "min(x, y + z)"},
      {"max(x, y - z) + z", "max(x + z, y)"},
      {"max(x - z, y) + z", "max(x, y + z)"},
      {"min(x, y + z * c1) + z * c2", "min(x + z * c2, y)", "c1 == -c2"},
      {"max(x, y + z * c1) + z * c2", "max(x + z * c2, y)", "c1 == -c2"},
      {"min(y + z * c1, x) + z * c2", "min(x + z * c2, y)", "c1 == -c2"},
      {"max(y + z * c1, x) + z * c2", "max(x + z * c2, y)", "c1 == -c2"},
      {"max(x, y) + min(x, y) | min(x, y) + max(x, y) | max(x, y) + min(y, x) | min(x, y) + max(y, x)", "x + y"},
      {"min(x, y + c1) + c2", "min(x + c2, y)", "c1 == -c2"},
      {"min(x + c1, y) + c2", "min(x, y + c2)", "c1 == -c2"},
      {"max(x, y + c1) + c2", "max(x + c2, y)", "c1 == -c2"},
      {"max(x + c1, y) + c2", "max(x, y + c2)", "c1 == -c2"},

      // Collecting constants and factors.
      {"(x + c1) + c2", "x + (c1 + c2)"},
      {"x + x", "x * 2"},
      {"x * y + x | y * x + x | x + y * x | x + x * y", "x * (y + 1)"},
      {"x * y + x * z | y * x + x * z | x * y + z * x | y * x + z * x", "x * (y + z)"},

      // A quotient and its remainder.
      {"truncdiv(x, c1) * c1 + truncmod(x, c1)", "x"},
      {"x // y * y + x % y | y * (x // y) + x % y | x % y + x // y * y | x % y + y * (x // y)", "x"},
      {"(x % c2 + c1) // c2 + x // c2", "(x + c1) // c2", "c2 > 0"},
      {"x // 2 + x % 2", "(x + 1) // 2", "", Then::Again},
      {"(x + c1) % 2 + x % 2 | x % 2 + (x + c1) % 2", "1", "(c1 % 2 + 2) % 2 == 1"},

      // Constants to the right.
      {"x + (c1 - y) | (c1 - y) + x", "(x - y) + c1", "", Then::Again},
      {"(x + c1) + y | x + (c1 + y) | x + (y + c1)", "(x + y) + c1", "", Then::Again},
      {"x + max(y, z)", "max(y, z) + x", "", Then::Again},
      {"x + min(y, z)", "min(y, z) + x", "", Then::Again},
      {"truncmod(y, c1) + x * c1", "x * c1 + truncmod(y, c1)", "", Then::Again},
      {"y % c1 + x * c1", "x * c1 + y % c1", "", Then::Again},

      {"select(x, b1, b2) + select(x, s1, s2)", "select(x, b1 + s1, b2 + s2)", "", Then::Done, On::Any},
  });
  return rules;
}

}  // namespace loopsmith::arith
