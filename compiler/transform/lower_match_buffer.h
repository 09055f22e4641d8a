// lower_match_buffer: replaces views of regions by the buffers they look into.
//
//     B = T.match_buffer(A[i * 4:i * 4 + 4, j], (4,))
//     B[k] = 0                                            ==>     A[i * 4 + k, j] = 0
//
// Needs   blocks are opaque; a vector that runs over the end of a view's row finds the next row behind it in memory.
// Gives   no block has match_buffers; the view's symbolic strides, offset and shape are given their values.
// Keeps   values; origins.
// Place   after compact_buffer_allocation, which reads the regions of views and shifts them.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto lower_match_buffer(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
