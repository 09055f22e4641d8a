// plain_accesses: textures, memory by scope and masked accesses through pointers as buffers (ir/plain.h); lanes that a mask leaves
// out are not computed.
//
//     T.masked_store(p, value, index, mask)               ==>   P.vstore([index], value, mask)
//     B.vstore([T.Ramp(0, 1, 4)], A[T.Ramp(n, 1, 4)], m)  ==>   B.vstore([T.Ramp(0, 1, 4)], T.if_then_else(m, A[...], T.Broadcast(0, 4)), m)
//
// Needs   no blocks, whose regions are declared; allocations with all their dimensions.
// Gives   no call of such an access whose memory is known; no value or index under a mask that can fail where the mask does not hold.
// Keeps   values, of lanes under the mask; functions without such accesses, as the same nodes.
// Place   before flatten_buffer, which forgets the rows of a texture. What vectorize_loop makes later has masks where it needs them.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto plain_accesses(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
