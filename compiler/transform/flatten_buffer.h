// flatten_buffer: gives every buffer access a single index.
//
//     A[i, j]   with A: (16, 32)      ==>      A_1[i * 32 + j]   with A_1: (512,), data=A.data
//
// Needs   no blocks.
// Gives   each BufferLoad and BufferStore has exactly one index, into a buffer of one dimension without strides
//         and offset. Views of parameters are declared at the top of the body, those of allocations where they were.
// Keeps   values; origins; the parameters' own buffers, because calls are checked against their shapes; flat
//         buffers, as the same nodes.
// Place   before vectorize_loop, which turns the one index into a ramp.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto flatten_buffer(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
