// reduce_across_threads: splits reductions whose loop is bound to threads into independent parts.
//
//     for tx in T.thread_binding(8, "threadIdx.x"):                    for tx in T.thread_binding(8, "threadIdx.x"):
//         C[0] = C[0] + A[tx]                                              part[0] = 0
//                                                                          part[0] = part[0] + A[tx]
//                                                                          parts[tx] = part[0]
//                                                             ==>      for tx in T.thread_binding(8, "threadIdx.x"):
//                                                                          if tx + 4 < 8:
//                                                                              parts[tx] = parts[tx] + parts[tx + 4]
//                                                                      ...                             # 2, 1
//                                                                      C[0] = C[0] + parts[0]
//
// Sums, products, minima, maxima, and the bitwise and logical operators are split; so are choices, as an argmax in two buffers makes. A loop with another
// update of an element that does not depend on the thread becomes serial.
//
// On a device whose warps exchange registers, `reduce_in_warps` runs first. It splits reductions over threadIdx.x whose threads are whole warps or
// equal parts of a warp, and leaves other reductions unchanged:
//
//     for tx in T.thread_binding(64, "threadIdx.x"):                   for tx in T.thread_binding(64, "threadIdx.x"):
//         C[0] = C[0] + A[tx]                                              part[0] = 0
//                                                                          part[0] = part[0] + A[tx]
//                                                                          part[0] = part[0] + shuffle_down(part[0], 16)
//                                                             ==>          ...                             # 8, 4, 2, 1
//                                                                          if tx % 32 == 0:
//                                                                              parts[tx // 32] = part[0]
//                                                                      for tx in T.thread_binding(64, "threadIdx.x"):
//                                                                          ...                             # the same for the parts of 2 warps
//                                                                          if tx == 0:
//                                                                              C[0] = C[0] + total[0]
//
// Both first move a loop over threads out of the serial loops around it, where these compute nothing but the reduction: each thread adds up its terms of
// all iterations, and the parts are combined once.
//
// Needs   flat accesses.
// Gives   loops over threads whose iterations do not depend on one another; plan_barriers adds barriers to them.
// Keeps   integer results; sums of reals are added in another order, as the schedule requested.
// Place   before bind_threads.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto reduce_in_warps(const IRModule& module, const LowerContext& context) -> Result<IRModule>;
[[nodiscard]] auto reduce_across_threads(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
