// plan_shared_memory: shared buffers of a kernel that are not alive at the same time share one allocation.
//
//     S = T.allocate([64], scope="shared")                     S = T.allocate([128], scope="shared")
//     S[tx] = A[tx]                                            S[tx] = A[tx]
//     B[tx] = S[63 - tx]                              ==>      B[tx] = S[63 - tx]
//     R = T.allocate([128], scope="shared")                    S[tx] = B[tx]
//     R[tx] = B[tx]                                            C[tx] = S[127 - tx]
//     C[tx] = R[127 - tx]
//
// A buffer is alive from its first access to its last. A loop that lies inside of its allocation and accesses it counts as a whole.
//
// Needs   flat accesses; thread-bound loops are still loops.
// Gives   the same scopes. Shared are buffers of one scope, whose elements have one size, of constant extents, inside of the same loops over threads
//         and not around kernels. The allocation stands where the first of them stood, or further out, at the statement around both.
// Keeps   values; other allocations.
// Place   before bind_threads, which sees one memory then: a store to the second buffer waits for the loads of the first.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto plan_shared_memory(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
