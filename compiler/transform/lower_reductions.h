// lower_reductions: writes reductions that stand in expressions as loops over a sum of their own.
//
//                                                     r[0] = 0
//     B[i] = T.reduce(add, [A[i, k]], ..., [k]) ==>   for k in range(n): r[0] = r[0] + A[i, k]
//                                                     B[i] = r[0]
//
// What a choice guards (`T.if_then_else`) and what a `T.Let` of the expression names stays where it is: it cannot be
// computed before.
//
// Needs   schedule level, or flat.
// Gives   no statement but those has a reduction in an expression.
// Keeps   values, in the order of the axes; origins.
// Place   first, so that later passes see loops.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto lower_reductions(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
