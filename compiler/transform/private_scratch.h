// private_scratch: moves the allocation of scratch memory into the loops whose iterations run at the same time.
//
//     x = T.allocate([1])                          for i in T.parallel(16):
//     for i in T.parallel(16):         ==>             x = T.allocate([1])
//         x[0] = A[i] * 2                              x[0] = A[i] * 2
//         B[i] = x[0] + 1                              B[i] = x[0] + 1
//
// Needs   blocks are lowered.
// Gives   separate memory for each iteration of a parallel, vectorized or thread-bound loop, for memory that the iterations would otherwise share
//         and that each fills before it reads. No variable is a second name of allocated memory (`p = x.data`).
// Keeps   values. Memory with values that are kept across iterations does not move: its iterations race, which `loopsmith check` reports.
// Place   behind lower_opaque_block. Before that, plan_buffer_location moves the buffers between blocks, since blocks declare their accesses.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto private_scratch(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
