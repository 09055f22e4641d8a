// The values of integer expressions for given values of their variables.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

using Valuation = std::vector<std::pair<const VarNode*, int64_t>>;

/// None for expressions other than plain arithmetic, for unknown variables, and if numbers exceed 2^30.
[[nodiscard]] auto evaluate_integer(const Expr& e, const Valuation& values) -> std::optional<int64_t>;

}  // namespace loopsmith
