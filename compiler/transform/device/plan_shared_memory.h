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
// Gives   the same scopes. Buffers share memory if they have the same scope, constant extents and elements of the same size, and are allocated inside of the same
//         loops over threads. The shared allocation is that of the first buffer, moved outwards to the statement around both if necessary.
// Keeps   values; other allocations.
// Place   before bind_threads, which sees one memory then: a store to the second buffer waits for the loads of the first.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto plan_shared_memory(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
