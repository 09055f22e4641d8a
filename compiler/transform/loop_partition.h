// loop_partition: splits a loop into several at the iterations where a condition in it changes.
//
//     for w in range(58):                                              for w in range(1): <as before>
//         P[w] = T.if_then_else(1 <= w and w < 57, A[w - 1], 0)   ==>  for w in range(56): P[w + 1] = A[w]
//                                                                      for w in range(1): <as before>
//
// A comparison of sums over the loop's variable, outer variables and variables of loops inside holds on an interval of the
// loop, for all iterations of the loops inside. With several conditions, the middle part is the intersection of their
// intervals, and has no conditions. Parts that are known to be empty are left out; ends that are not constant are computed.
// `T.ignore_loop_partition(c)` excludes a condition; `pragma_loop_partition_hint` on a loop splits it regardless of its size
// (both as in TVM).
//
// Needs   no blocks; flat or not.
// Gives   serial loops whose longest part has no conditions. Parallel and vectorized loops, loops over threads, and loops with
//         `break` or `continue` stay as they are.
// Keeps   values and the order of iterations; a function grows by at most `partition_limit` statements.
// Place   after simplification, which removes conditions that always hold; before unswitch_predicates, which tests at run
//         time the conditions on two loops at once.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto loop_partition(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
