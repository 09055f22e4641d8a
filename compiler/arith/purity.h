// What an expression does beside having a value.
#pragma once

#include "ir/ir.h"

namespace loopsmith::arith {

/// It computes a value from variables and constants, and nothing else: it reads no memory and has no call with an effect.
[[nodiscard]] auto is_pure(const Expr& expr) -> bool;

}  // namespace loopsmith::arith
