// lower_thread_binding: turns loops over threads into loops of a processor.
//
//     for bx in T.thread_binding(2, "blockIdx.x"):             for bx in T.parallel(2):
//         S = T.allocate([8], scope="shared")                      S = T.allocate([8], scope="shared")
//         for tx in T.thread_binding(8, "threadIdx.x"):            v = T.allocate([8], scope="local")
//             v = T.allocate([1], scope="local")          ==>      for tx in range(8):
//             v[0] = A[bx * 8 + tx]                                    v[tx] = A[bx * 8 + tx]
//             S[tx] = v[0]                                             S[tx] = v[tx]
//             T.tvm_storage_sync("shared")                         for tx in range(8):
//             B[bx * 8 + tx] = S[7 - tx] + v[0]                        B[bx * 8 + tx] = S[7 - tx] + v[tx]
//
// Blocks may run at the same time, so the outermost loop over them is parallel. Threads take turns: at a barrier, a loop over all
// threads ends and another one begins, and thread-local values that live across the barrier become arrays with an element per
// thread (Stratton et al., "MCUDA", 2008). A branch whose condition differs between threads becomes a condition of each loop
// inside. Virtual threads become loops.
//
// Needs   flat accesses; lower_cross_thread_reduction has run; a loop with a barrier inside has the same extent for all
//         threads.
// Gives   no loop or attribute that is bound to a thread.
// Keeps   values, and the order of each thread's statements.
// Place   before simplify_indices, which cleans up; before vectorize_loop and plan_storage, which reason about loops.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto lower_thread_binding(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
