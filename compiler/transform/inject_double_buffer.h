// inject_double_buffer: what an iteration consumes is produced while the iteration before works.
//
//     for i in range(64):                                   B = allocate([16])
//         B = allocate([8])                                 B[0:8] = load(0)
//         with T.attr(B, "double_buffer_scope", 1):   ==>   for i in range(64):
//             B[0:8] = load(i)                                  if i + 1 < 64:
//         use(B[0:8])                                               B[(i + 1) % 2 * 8 + 0:8] = load(i + 1)
//                                                               use(B[i % 2 * 8 + 0:8])
//
// The form that TE gives programs; blocks ask for it as inject_software_pipeline.h says.
//
// Needs   flat buffers. The attribute's statement comes first in a serial loop that also allocates the buffer; it writes
//         nothing else, reads nothing that the rest of the loop writes, and hands out no pointers. Else it stays: nothing
//         but time is lost.
// Gives   no `double_buffer_scope` of such loops.
// Keeps   values.
// Place   after flatten_buffer; before loop_partition, which takes the last iteration off.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto inject_double_buffer(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
