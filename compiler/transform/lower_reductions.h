// lower_reductions: turns reductions in expressions into loops over a local sum.
//
//                                                     r[0] = 0
//     B[i] = T.reduce(add, [A[i, k]], ..., [k]) ==>   for k in range(n): r[0] = r[0] + A[i, k]
//                                                     B[i] = r[0]
//
// Reductions under `T.if_then_else`, and reductions over a variable of a `T.Let` in the expression, stay: they cannot be
// computed before the statement.
//
// Needs   schedule level, or flat.
// Gives   no other reductions in expressions.
// Keeps   values, in the order of the axes; origins.
// Place   first, so that later passes see loops.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto lower_reductions(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
