// private_scratch: moves the allocation of scratch memory into the loops whose iterations run at the same time.
//
//     x = T.allocate([1])                          for i in T.parallel(16):
//     for i in T.parallel(16):         ==>             x = T.allocate([1])
//         x[0] = A[i] * 2                              x[0] = A[i] * 2
//         B[i] = x[0] + 1                              B[i] = x[0] + 1
//
// Needs   blocks are lowered.
// Gives   memory that an iteration of a parallel, vectorized or thread-bound loop fills before it reads, and that iterations would share,
//         belongs to the iteration.
// Keeps   values. Memory that lives across iterations stays where it is: its iterations race, which `loopsmith check` reports.
// Place   behind lower_opaque_block. Blocks declare their accesses, so plan_buffer_location moves the buffers between them before.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto private_scratch(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
