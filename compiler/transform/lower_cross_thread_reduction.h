// lower_cross_thread_reduction: lowers communication between threads to shared memory and barriers.
//
//     T.tvm_thread_allreduce(1, A[tx], True, C[0], tx)     ==>     cross[tx] = A[tx]
//                                                                  barrier
//                                                                  if tx == 0:
//                                                                      for r in range(7):
//                                                                          cross[0] = cross[0] + cross[r + 1]
//                                                                  barrier
//                                                                  C[0] = cross[0]
//                                                                  barrier
//
// Exchanges within a warp (`tvm_warp_shuffle` and its variants) become a store, a barrier and a load of another thread's value.
//
// Needs   flat accesses; all threads of a block reach its reductions and exchanges together.
// Gives   no `tvm_thread_allreduce` and no shuffle, except for those over indices of other threads than the loops around have.
// Keeps   the order of the reduction: threads one after the other, the first dimension of the block fastest.
// Place   after flatten_buffer; before lower_thread_binding, which splits loops at barriers.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto lower_cross_thread_reduction(const IRModule& module, const LowerContext& context) -> Result<IRModule>;
/// The same for devices whose warps exchange registers: keeps exchanges.
[[nodiscard]] auto lower_cross_thread_reduction_with_warps(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
