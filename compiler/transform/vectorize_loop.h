// vectorize_loop: turns vectorized loops of constant extent into vector code.
//
//     for j in T.vectorized(16):
//         C[i * 16 + j] = A[i * 16 + j] * 2      ==>   C[i * 16:i * 16 + 16] = A[i * 16:i * 16 + 16] * T.Broadcast(2, 16)
//
// The loop variable becomes a ramp. An extent is split into powers of two, each at most `max_lanes`: 24 becomes 16
// and 8. A condition on lanes becomes the mask of the loads and stores under it. A statement that cannot become
// vector code (inner loops that depend on the lane, calls with effects, divisions guarded by a mask, stores of all
// lanes to the same element) gets its own serial loop over the lanes; the other statements become vector code.
//
// Needs   flat buffers; iterations of a vectorized loop may run in any order, as the IR defines.
// Gives   no loop is Vectorized. Loops of unknown extent are serial.
// Keeps   values; origins.
// Place   before unrolling, which repeats vector statements; after flatten_buffer.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto vectorize_loop(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
