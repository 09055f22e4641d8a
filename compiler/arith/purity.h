// Side effects of expressions.
#pragma once

#include "ir/ir.h"

namespace loopsmith::arith {

/// True for expressions that only compute a value from variables and constants: no memory reads, no calls with effects.
[[nodiscard]] auto is_pure(const Expr& expr) -> bool;

}  // namespace loopsmith::arith
