// inject_double_buffer: produces the data of an iteration while the previous iteration computes.
//
//     for i in range(64):                                   B = allocate([16])
//         B = allocate([8])                                 B[0:8] = load(0)
//         with T.attr(B, "double_buffer_scope", 1):   ==>   for i in range(64):
//             B[0:8] = load(i)                                  if i + 1 < 64:
//         use(B[0:8])                                               B[(i + 1) % 2 * 8 + 0:8] = load(i + 1)
//                                                               use(B[i % 2 * 8 + 0:8])
//
// Programs from TE have this form; blocks request it as in inject_software_pipeline.h.
//
// Needs   flat buffers. The attribute's statement is the first in a serial loop that also allocates the buffer. It writes no
//         other buffer, reads no buffer that the rest of the loop writes, and passes no pointers on. Otherwise the attribute
//         has no effect.
// Gives   no `double_buffer_scope` of such loops.
// Keeps   values.
// Place   after flatten_buffer; before loop_partition, which peels off the last iteration.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto inject_double_buffer(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
