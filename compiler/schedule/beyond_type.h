// Integer overflow in the code that a step made: bounds of loops, iter values, predicates and indices that contain a part which may exceed
// int32 or int64. Constants that do not fit are found while they are computed (ir/wrapped.h); this file computes ranges of values.
#pragma once

#include <optional>
#include <string>

#include "schedule/primitive.h"
#include "schedule/rewrite.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

struct BeyondType {
  std::string expr;      // as text
  std::string value;     // the largest value, in decimal
  DataType dtype;
};

/// The first expression in the new code of a rewrite that may overflow, over all iterations of loops with constant bounds. Searches only
/// where a loop or an iter var has an extent so large that a sum may overflow. `func`: the function before the rewrite.
[[nodiscard]] auto find_beyond_type(const FuncState& func, const Rewrite& rewrite) -> std::optional<BeyondType>;

/// The error of a step that would make a size or an index that its type cannot hold. `what`: the size or index; `value`: in decimal.
[[nodiscard]] auto size_beyond_type(const Context& cx, std::string what, std::string value, DataType dtype) -> Diagnostic;

}  // namespace loopsmith::schedule
