// lower_opaque_block: turns blocks into plain statements.
//
//     with T.block("B"):                              B = T.allocate(...); B_1 = T.decl_buffer(..., data=B)
//         T.where(i < 10)                     ==>     if i < 10:
//         B = T.alloc_buffer(...)                         <body>
//         <body>
//
// Loops of one iteration are removed; `pragma_*` annotations of loops and blocks become T.attr around them; other
// annotations stay on loops and are dropped from blocks.
//
// Needs   blocks are opaque and have neither init nor match_buffers.
// Gives   no blocks.
// Keeps   values; kinds and ids of loops.
// Place   the last pass that handles blocks.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto lower_opaque_block(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
