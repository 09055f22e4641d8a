// compact_buffer_allocation: shrinks every allocated buffer to the region that is accessed during its lifetime.
//
//     for i in range(16):                              for i in range(16):
//         B = T.alloc_buffer((16, 64))                     B = T.alloc_buffer((1, 64))
//         for j in range(64):                 ==>          for j in range(64):
//             B[i, j] = A[i, j] + 1                            B[0, j] = A[i, j] + 1
//
// Dimension by dimension: the range of all accesses, with the loops inside the allocation relaxed over their
// domains, gives a lower end (subtracted from the indices) and a constant extent. Conditions around an access are
// not used, because they can only make its range smaller.
//
// Rows of buffers with an alignment (storage_align) get strides: the stride of the dimension becomes the next multiple of the factor, plus
// the offset.
//
// Needs   blocks are opaque; buffers are allocated where plan_buffer_location puts them.
// Gives   small buffers. A dimension whose range has no constant bound is unchanged; so is a buffer whose memory is
//         also accessed in other ways (through its data variable, through a second view).
// Keeps   values; accesses; origins.
// Place   before lower_match_buffer: regions of views are accesses.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto compact_buffer_allocation(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
