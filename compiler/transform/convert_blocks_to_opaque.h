// convert_blocks_to_opaque: replaces a block's iter vars by their bindings.
//
//     with T.block("B"):
//         vi = T.axis.spatial(128, i0 * 32 + i1)             with T.block("B"):
//         B[vi] = A[vi]                              ==>         B[i0 * 32 + i1] = A[i0 * 32 + i1]
//
// Needs   no block has an init.
// Gives   no block has iter vars.
// Keeps   values; predicates; regions, in terms of loops; ids of blocks.
// Place   after the passes that reason about block instances, before those that reason about loops.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto convert_blocks_to_opaque(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
