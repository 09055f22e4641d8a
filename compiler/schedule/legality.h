// What a state of a schedule allows, for those who list choices: which primitives, and which loops or blocks as an argument. Asks the
// checks of the rows with the candidates of schedule/moves.h; nothing is rewritten.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedule/moves.h"

namespace loopsmith::schedule {

struct Legality {
  enum class Verdict : uint8_t { Unknown, Legal, Refused };   // Unknown: there is nothing to try, or too much
  Verdict verdict = Verdict::Unknown;
  std::optional<Move> move = {};   // where legal: the first one
  std::string why_not = {};                  // where refused: of the first one tried
};

/// Asked between two candidates: true, and what was found so far has to do.
using Stop = std::function<bool()>;

/// Is some call of the primitive legal? Loops and blocks that the script has names for are tried first.
[[nodiscard]] auto legality_of(const Schedule& schedule, const Primitive& primitive, const NameOfPlace& name_of, const Stop& stop = {}) -> Legality;

/// Is some call legal in which the parameters from the first on have these values? Values are by place, as in Move; at
/// least one. A null value fits everything.
[[nodiscard]] auto legality_with(const Schedule& schedule, const Primitive& primitive,
                                 const std::vector<std::optional<Value>>& first, const Stop& stop = {}) -> Legality;

}  // namespace loopsmith::schedule
