// Rules of `not`, `and`, `or`: comparisons of an expression with two constants, and a quotient and a remainder that together
// determine a number. They apply to every type; rules that compute a number require a type that does not wrap around.
#include "arith/rule.h"

namespace loopsmith::arith {

auto not_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"not broadcast(x, lanes)", "broadcast(not x, lanes)", "", Then::Done, On::Vector},
      {"not (not x)", "x", "", Then::Done, On::Any},
      {"not (x <= y)", "y < x", "", Then::Done, On::Any},
      {"not (x >= y)", "x < y", "", Then::Done, On::Any},
      {"not (x < y)", "y <= x", "", Then::Done, On::Any},
      {"not (x > y)", "x <= y", "", Then::Done, On::Any},
      {"not (x == y)", "x != y", "", Then::Done, On::Any},
      {"not (x != y)", "x == y", "", Then::Done, On::Any},
      {"not (x or y)", "(not x) and (not y)", "", Then::Again, On::Any},
      {"not (x and y)", "(not x) or (not y)", "", Then::Again, On::Any},
  });
  return rules;
}

auto and_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"broadcast(x, lanes) and broadcast(y, lanes)", "broadcast(x and y, lanes)", "", Then::Done, On::Vector},
      {"x == y and x != y | x != y and x == y | x and not x | x <= y and y < x | y < x and x <= y", "false", "", Then::Done, On::Any},
      {"x < c1 and c2 < x | c2 < x and x < c1", "false", "c2 + 1 >= c1", Then::Done, On::Any},
      {"x < c1 and c2 <= x | c2 <= x and x < c1 | x <= c1 and c2 < x | c2 < x and x <= c1", "false", "c2 >= c1", Then::Done, On::Any},
      {"x <= c1 and c2 <= x | c2 <= x and x <= c1", "false", "c2 > c1", Then::Done, On::Any},
      {"x == c1 and x == c2", "x == c1 and c1 == c2", "", Then::Done, On::Any},
      {"x == c1 and x != c2 | x != c2 and x == c1", "x == c1 and c1 != c2", "", Then::Done, On::Any},

      // A known quotient and a known remainder.
      {"x // c2 == c1 and x % c2 == c3 | x % c2 == c3 and x // c2 == c1", "x == c1 * c2 + c3", "0 <= c3 and c3 < c2", Then::Again, On::Any},
      {"0 <= x - y * c1 and x - y * c1 < c1 | x - y * c1 < c1 and 0 <= x - y * c1", "y == x // c1", "c1 > 0 and index(x)", Then::Again, On::Any},
      {"c1 < x - y * c1 and x - y * c1 <= 0", "y == x // c1", "c1 < 0 and index(x)", Then::Again, On::Any},
      {"0 <= x + y * c2 and x + y * c2 < c1 | x + y * c2 < c1 and 0 <= x + y * c2", "y == x // c1", "c1 > 0 and c2 == -c1 and index(x)", Then::Again, On::Any},
      {"x < c1 and x % c2 < c3", "x < c1 - c2 + c3 and x % c2 < c3", "c2 > 0 and 0 < c3 and c3 <= c2 and c1 % c2 == 0", Then::Again, On::Any},
      {"x < c1 and x % c2 < c3", "x < c1 - c1 % c2 + c3 and x % c2 < c3", "c2 > 0 and 0 < c3 and (c1 % c2 + c2) % c2 > c3", Then::Again, On::Any},
      {"x <= c1 and x % c2 < c3", "x < c1 + 1 - c2 + c3 and x % c2 < c3", "c2 > 0 and 0 < c3 and c3 <= c2 and (c1 + 1) % c2 == 0", Then::Again, On::Any},
      {"x <= c1 and x % c2 < c3", "x < c1 + 1 - c1 % c2 + c3 and x % c2 < c3", "c2 > 0 and 0 < c3 and ((c1 + 1) % c2 + c2) % c2 > c3", Then::Again, On::Any},
      {"x // c2 == c1 and x % c2 < c3 | x % c2 < c3 and x // c2 == c1", "c1 * c2 <= x and x < c1 * c2 + c3", "c2 > 0 and c3 <= c2", Then::Again, On::Any},
      {"x // c2 == c1 and x % c2 <= c3 | x % c2 <= c3 and x // c2 == c1", "c1 * c2 <= x and x <= c1 * c2 + c3", "c3 < c2 and c2 > 0", Then::Again, On::Any},
      {"x // c2 == c1 and c3 <= x % c2 | c3 <= x % c2 and x // c2 == c1", "c1 * c2 + c3 <= x and x < (c1 + 1) * c2", "c2 > 0 and 0 <= c3", Then::Again, On::Any},
      {"x // c2 == c1 and c3 < x % c2 | c3 < x % c2 and x // c2 == c1", "c1 * c2 + c3 < x and x < (c1 + 1) * c2", "c2 > 0 and 0 <= c3 + 1", Then::Again, On::Any},

      {"x and (y and z)", "(x and y) and z", "", Then::Again, On::Any},
  });
  return rules;
}

auto or_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"broadcast(x, lanes) or broadcast(y, lanes)", "broadcast(x or y, lanes)", "", Then::Done, On::Vector},
      {"x == y or x != y | x != y or x == y | x or not x | x <= y or y < x | y < x or x <= y", "true", "", Then::Done, On::Any},
      {"x < y or y < x", "x != y", "", Then::Done, On::Any},
      {"x < c1 or c2 < x | c2 < x or x < c1", "true", "c2 < c1", Then::Done, On::Any},
      {"x <= c1 or c2 < x | c2 < x or x <= c1 | x < c1 or c2 <= x | c2 <= x or x < c1", "true", "c2 <= c1", Then::Done, On::Any},
      {"x <= c1 or c2 <= x | c2 <= x or x <= c1", "true", "c2 <= c1 + 1", Then::Done, On::Any},
      {"x != c1 or x != c2", "x != c1 or c1 != c2", "", Then::Done, On::Any},
      {"x != c1 or x == c2 | x == c2 or x != c1", "x != c1 or c1 == c2", "", Then::Done, On::Any},
      {"x < y or x == y | x < y or y == x | x == y or x < y | y == x or x < y", "x <= y", "", Then::Again, On::Any},
      {"x or (y or z)", "(x or y) or z", "", Then::Again, On::Any},
  });
  return rules;
}

}  // namespace loopsmith::arith
