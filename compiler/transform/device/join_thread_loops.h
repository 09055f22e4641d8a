// join_thread_loops: puts the loops over the same threads that access operands of matrix units into one loop.
//
//     for ty in T.thread_binding(4, "threadIdx.y"):           for ty in T.thread_binding(4, "threadIdx.y"):
//         sum[ty] = ...   # a fragment                            sum[ty] = ...
//     for i in range(2):                                ==>       for i in range(2):
//         for ty in T.thread_binding(4, "threadIdx.y"):               tile[ty] = sum[ty]
//             tile[ty] = sum[ty]                                      for t in T.thread_binding(4, "threadIdx.y"):
//         for t in T.thread_binding(4, "threadIdx.y"):                    C[i, t] = tile[3 - t]
//             C[i, t] = tile[3 - t]
//
// A fragment lives in registers of a warp, so all its accesses belong into one loop over the warps; the next stage then moves its allocation there.
// Other loops over the same threads stay, inside of the joined loop: all threads run them together.
//
// Needs   blocks; the kinds of thread loops.
// Gives   each fragment inside of one loop over each dimension of threads, where every thread reads only the elements that it wrote.
// Keeps   values. Loops stay apart if a thread would read elements of others, if their extents differ, or if a statement between them is in no loop over the
//         dimension.
// Place   before plan_buffer_location.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto join_thread_loops(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
