// blend_masked_stores: replaces masked stores into local memory by unmasked stores of vectors of old and new lanes.
//
//     C[0:16] = C[0:16] + A[k:k + 16], where k + lane < 60      ==>      C[0:16] = T.Select(mask, C[0:16] + A[...], C[0:16])
//
// A masked access needs memory; a select between two vectors does not. Reductions with a tail then stay in registers.
//
// Needs   vector code.
// Gives   no mask where the whole vector lies in a buffer that was allocated on the way from the innermost parallel loop, or from
//         the function, so that no other thread sees it.
// Keeps   values; masks of all other accesses.
// Place   after the last simplification, whose ranges it uses; before reuse_storage, where several buffers share memory.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto blend_masked_stores(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
