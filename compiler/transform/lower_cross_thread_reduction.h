// lower_cross_thread_reduction: what threads tell each other, as memory that they share and barriers.
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
// Exchanges within a warp (`tvm_warp_shuffle` and its kin) become a store, a barrier and a load from another thread's place.
//
// Needs   flat accesses; all threads of a block come to its reductions and exchanges together.
// Gives   no `tvm_thread_allreduce` and no shuffle but where the indices of the threads are not those of loops around.
// Keeps   the order of the reduction: threads one after the other, the first dimension of the block fastest.
// Place   after flatten_buffer; before lower_thread_binding, which takes barriers apart.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto lower_cross_thread_reduction(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
