// Values of primitives' arguments: equality, and words for messages.
#include "schedule/value.h"

#include "ir/equal.h"

namespace loopsmith::schedule {

auto operator==(const Value& a, const Value& b) -> bool {
  if (a.data.index() != b.data.index()) { return false; }
  if (const auto* map = a.as<IndexMap>()) { return structural_equal(*map, *b.as<IndexMap>()); }
  if (const auto* expr = a.as<Expr>()) { return structural_equal(*expr, *b.as<Expr>()); }
  return a.data == b.data;
}

auto kind_in_words(const Value& value) -> std::string {
  switch (value.data.index()) {
    case 0: return "None";
    case 1: return "a bool";
    case 2: return "an integer";
    case 3: return "a float";
    case 4: return "a string";
    case 5: return "a block";
    case 6: return "a loop";
    case 7: return "an integer variable";
    case 8: return "a list";
    case 9: return "a dict";
    case 10: return "an index map";
    case 11: return "an expression";
    default: return "a function";
  }
}

}  // namespace loopsmith::schedule
