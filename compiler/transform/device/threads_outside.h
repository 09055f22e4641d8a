// Moves loops over threads out of the serial loops around them, where these compute nothing but one reduction:
//
//     for k in range(4):                                               for tx in T.thread_binding(8, "threadIdx.x"):
//         for tx in T.thread_binding(8, "threadIdx.x"):       ==>          for k in range(4):
//             C[0] = C[0] + A[k * 8 + tx]                                      C[0] = C[0] + A[k * 8 + tx]
//
// Each thread then adds up its terms of all iterations, and the threads combine their parts once (reduce_across_threads).
#pragma once

#include "ir/ir.h"

namespace loopsmith::transform {

[[nodiscard]] auto move_threads_outside(const Stmt& stmt) -> Stmt;

}  // namespace loopsmith::transform
