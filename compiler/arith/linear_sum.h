// Sums of variables times numbers, `i_0 * 128 + i_1 * 64 + 63`: what the ends of regions, the values of iter vars and their
// differences nearly always are. For the files of this room only.
#pragma once

#include "arith/state.h"

namespace loopsmith::arith {

/// What Analyzer::simplify makes of a sum, difference or multiple of variables and numbers, or of the lesser or greater of two that
/// differ by a number, without its rules: factors above 0, each less than the one before. None: it is something else, or one that
/// rules may change (factors in another order, a negative number, a variable that is known to be one value, facts of a scope).
[[nodiscard]] auto simplified_linear_sum(const Analyzer::State& state, const Expr& expr) -> Expr;

}  // namespace loopsmith::arith
