// An index as a sum of variables times constants.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ir/ir.h"

namespace loopsmith::tune {

struct Linear { std::map<const VarNode*, int64_t> terms; int64_t constant = 0; };

/// None where the expression is not such a sum.
[[nodiscard]] auto linear(const Expr& e) -> std::optional<Linear>;

}  // namespace loopsmith::tune
