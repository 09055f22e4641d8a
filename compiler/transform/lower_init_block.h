// lower_init_block: writes the init of a reduction as a condition in the block's body.
//
//     with T.init(): C[v] = 0              if vk == 0: C[v] = 0
//     C[v] = C[v] + A[v, vk]      ==>      C[v] = C[v] + A[v, vk]
//
// Needs   schedule level.
// Gives   no block has an init.
// Keeps   values; origins; ids of blocks.
// Place   first: the condition uses reduction iter vars, which convert_blocks_to_opaque removes.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto lower_init_block(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
