// inject_prefetch: fetches what later iterations of a loop will read, where a loop asks for it.
//
//     for i in T.serial(64, annotations={"prefetch_A": 2}):          for i in range(64):
//         B[i, 0:16] = A[i, 0:16] * 2                         ==>        T.prefetch(T.address_of(A[T.min(i + 2, 63), 0]), 0, 3, 1)
//                                                                         B[i, 0:16] = A[i, 0:16] * 2
//
// The annotation `prefetch_NAME` = n of a loop names a buffer that the body reads, and the number of iterations ahead. One call fetches a line of the cache, 64 bytes.
//
// Needs   no blocks; accesses have an index for every dimension.
// Gives   no loop has such an annotation.
// Keeps   values: a prefetch changes no memory, and its address stays inside the buffer, also for the last iterations. A body that does not read the buffer, or reads the
//         same elements in every iteration, gets no call.
// Place   before flatten_buffer, which hides the dimensions of regions.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto inject_prefetch(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
