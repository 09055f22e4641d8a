// loop_partition: a loop becomes several where a condition in it begins or ceases to hold.
//
//     for w in range(58):                                              for w in range(1): <as before>
//         P[w] = T.if_then_else(1 <= w and w < 57, A[w - 1], 0)   ==>  for w in range(56): P[w + 1] = A[w]
//                                                                      for w in range(1): <as before>
//
// A comparison of sums in which the loop's variable occurs, and otherwise variables further out or those of loops
// inside, holds on an interval of the loop: for all iterations inside. Where several conditions are found, the middle
// part is where all of them hold, and has none. Parts that are known to be empty are left out; ends that are not constants are computed.
// `T.ignore_loop_partition(c)` keeps a condition where it is; `pragma_loop_partition_hint` on a loop takes it apart
// whatever its size (both as in TVM).
//
// Needs   no blocks; flat or not.
// Gives   the longest part of a serial loop without conditions. Parallel and vectorized loops, loops over threads, and loops that
//         are left by `break` or `continue` stay as they are.
// Keeps   values and the order of iterations; a function grows at most by `partition_limit` statements.
// Place   after simplification, which decides what holds everywhere; before unswitch_predicates, which tests at run
//         time what varies with two loops at once.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto loop_partition(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
