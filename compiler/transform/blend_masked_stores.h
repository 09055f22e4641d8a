// blend_masked_stores: stores under a mask into a function's own memory as whole vectors of old and new lanes.
//
//     C[0:16] = C[0:16] + A[k:k + 16], where k + lane < 60      ==>      C[0:16] = T.Select(mask, C[0:16] + A[...], C[0:16])
//
// A masked access needs memory; a choice between two vectors does not. Sums with a tail then stay in registers.
//
// Needs   vector code.
// Gives   no mask where the whole vector lies in a buffer that was allocated on the way from the innermost parallel loop, or from
//         the function, so that no other thread sees it.
// Keeps   values; masks of all other accesses.
// Place   after the last simplification, in whose ranges it looks; before reuse_storage, where several buffers share memory.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto blend_masked_stores(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
