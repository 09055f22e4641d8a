// Rules of multiplication: constants are multiplied out and end up at the right.
#include "arith/rule.h"

namespace loopsmith::arith {

auto mul_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"broadcast(x, lanes) * broadcast(y, lanes)", "broadcast(x * y, lanes)", "", Then::Done, On::Vector},
      {"ramp(b1, s1, lanes) * broadcast(x, lanes) | broadcast(x, lanes) * ramp(b1, s1, lanes)", "ramp(b1 * x, s1 * x, lanes)",
       "", Then::Done, On::Vector},

      {"(x + c1) * c2", "x * c2 + c1 * c2"},
      {"(x * c1) * c2", "x * (c1 * c2)"},
      {"min(x, y) * max(x, y) | max(x, y) * min(x, y)", "x * y"},
      {"(x - x % c2) // c1 * c1", "x - x % c2", "c1 == -c2"},
      {"x * (c1 * y)", "(x * y) * c1", "", Then::Again},
      {"c1 * x", "x * c1", "", Then::Again},
      {"(x - y) * c1", "(y - x) * (0 - c1)", "c1 < 0", Then::Again},
  });
  return rules;
}

}  // namespace loopsmith::arith
