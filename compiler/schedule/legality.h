// The choices that a state of a schedule allows, for completion and menus: which primitives, and which loops or blocks as arguments. Runs the
// checks of the rows on the candidates of schedule/moves.h; nothing is rewritten.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedule/moves.h"

namespace loopsmith::schedule {

struct Legality {
  enum class Verdict : uint8_t { Unknown, Legal, Refused };   // Unknown: no candidates, or too many
  Verdict verdict = Verdict::Unknown;
  std::optional<Move> move = {};   // a legal move, if one was found
  std::string why_not = {};                  // if refused: the reason for the first candidate
};

/// Called before each candidate; returns true to end the search with the results so far.
using Stop = std::function<bool()>;

/// Looks for a legal call of the primitive. Loops and blocks that have names in the script are tried first.
[[nodiscard]] auto legality_of(const Schedule& schedule, const Primitive& primitive, const NameOfPlace& name_of, const Stop& stop = {}) -> Legality;

/// The same among calls whose first parameters have these values (at least one; loops and blocks by place, as in Move). A null value allows
/// every argument.
[[nodiscard]] auto legality_with(const Schedule& schedule, const Primitive& primitive,
                                 const std::vector<std::optional<Value>>& first, const Stop& stop = {}) -> Legality;

}  // namespace loopsmith::schedule
