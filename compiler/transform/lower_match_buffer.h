// lower_match_buffer: replaces views of regions by the viewed buffers.
//
//     B = T.match_buffer(A[i * 4:i * 4 + 4, j], (4,))
//     B[k] = 0                                            ==>     A[i * 4 + k, j] = 0
//
// Needs   blocks are opaque; rows of a view are contiguous in memory if a vector runs over the end of a row.
// Gives   no block has match_buffers; the view's symbolic strides, offset and shape are replaced by their values.
// Keeps   values; origins.
// Place   after compact_buffer_allocation, which reads the regions of views and shifts them.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto lower_match_buffer(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
