// Sums of variables times numbers, `i_0 * 128 + i_1 * 64 + 63`: the usual form of region ends, of values of iter vars and of their
// differences. A fast path for the files of this room only.
#pragma once

#include "arith/state.h"

namespace loopsmith::arith {

/// The result of Analyzer::simplify, computed without the rules, for a sum, difference or multiple of variables and numbers, or for the minimum or maximum of two
/// that differ by a number. Handles positive factors, each smaller than the one before. Null for other expressions, and
/// if rules may apply: factors in another order, a negative number, a variable with a known value, facts of a scope.
[[nodiscard]] auto simplified_linear_sum(const Analyzer::State& state, const Expr& expr) -> Expr;

}  // namespace loopsmith::arith
