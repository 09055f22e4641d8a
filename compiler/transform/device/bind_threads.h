// bind_threads: makes kernels from loop nests that are bound to a grid: one index per dimension, and barriers.
//
//     for bx in T.thread_binding(2, "blockIdx.x"):                     with T.launch_thread("blockIdx.x", 2) as bx:
//         S = T.allocate([8], scope="shared")                              with T.launch_thread("threadIdx.x", 8) as tx:
//         for tx in T.thread_binding(8, "threadIdx.x"):                        S = T.allocate([8], scope="shared")
//             for ax in T.thread_binding(8, "threadIdx.x"):         ==>        S[tx] = A[bx * 8 + tx]
//                 S[ax] = A[bx * 8 + ax]                                       T.tvm_storage_sync("shared")
//             B[bx * 8 + tx] = S[7 - tx]                                       B[bx * 8 + tx] = S[7 - tx]
//
// All loops over a dimension become one index: its extent is the largest of theirs, and statements of shorter loops get a condition. A
// statement outside of the loops over a dimension of threads is done by the first thread, unless it fills the thread's own memory.
// Memory that is allocated outside of thread loops and not global belongs to the block: it becomes shared. Virtual threads that
// inject_virtual_thread left as loops become plain loops. Loops and branches around kernels that the device's memory decides on become parts of one kernel.
//
// Needs   flat accesses; reductions across threads are lowered.
// Gives   nests of `launch_thread`, blocks outermost, around code without other thread-bound loops, for a device with real threads.
// Keeps   values. plan_barriers.h defines the places of barriers.
// Place   after flatten_buffer; no later stage may move statements into branches that depend on a thread.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto bind_threads(const IRModule& module, const LowerContext& context) -> Result<IRModule>;
/// For devices whose warps exchange registers: memory of the scope `warp` is in registers where it can be (warp_memory.h).
[[nodiscard]] auto bind_threads_with_warps(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
