// plain_accesses: rewrites textures, memory by scope and masked accesses through pointers as buffer accesses (ir/plain.h). Lanes
// outside of a mask are not computed.
//
//     T.masked_store(p, value, index, mask)               ==>   P.vstore([index], value, mask)
//     B.vstore([T.Ramp(0, 1, 4)], A[T.Ramp(n, 1, 4)], m)  ==>   B.vstore([T.Ramp(0, 1, 4)], T.if_then_else(m, A[...], T.Broadcast(0, 4)), m)
//
// Needs   no blocks, because their declared regions would have to change; allocations with all their dimensions.
// Gives   no such call with known memory; no value or index under a mask that can fail where the mask is false.
// Keeps   values, of lanes under the mask; functions without such accesses, as the same nodes.
// Place   before flatten_buffer, which loses the rows of a texture. vectorize_loop adds its own masks later.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto plain_accesses(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
