// plan_buffer_location: moves every allocation of a block to the innermost loop or block around all accesses.
//
//     with T.block("root"):                       with T.block("root"):
//         B = T.alloc_buffer((16, 16))                for i in range(16):
//         for i in range(16):              ==>            with T.block():
//             <block that writes B[i, :]>                     B = T.alloc_buffer((16, 16))
//             <block that reads B[i, :]>                      <block that writes B[i, :]> ...
//
// Needs   schedule level. A buffer written under reduction iter vars (or other iter vars that are not data
//         parallel) stays outside of the loops that drive them, because its value is kept across their iterations. So
//         does a buffer of which some iteration reads elements that the same iteration does not write.
// Gives   each buffer is allocated where compact_buffer_allocation can shrink it to the accesses of one iteration.
// Keeps   values; buffers that are never used are dropped.
// Place   before convert_blocks_to_opaque, which loses the kinds of iter vars.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto plan_buffer_location(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
