// Arithmetic that may pass its type in what a step made: loops whose ends, and iter values, predicates and indices whose parts, may reach
// beyond int32 or int64. Constants that do not fit are found while they are computed (ir/wrapped.h); here ranges are.
#pragma once

#include <optional>
#include <string>

#include "schedule/rewrite.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

struct BeyondType {
  std::string expr;      // as text
  std::string value;     // the largest value, in decimal
  DataType dtype;
};

/// The first expression in the new code of a rewrite that may pass its type, over all iterations of loops with constant bounds. Looks only
/// where a loop or an iter var counts so far that a sum may: `func`, as it was before, tells.
[[nodiscard]] auto find_beyond_type(const FuncState& func, const Rewrite& rewrite) -> std::optional<BeyondType>;

}  // namespace loopsmith::schedule
