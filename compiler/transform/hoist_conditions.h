// hoist_conditions: what a loop asks in every iteration alike is asked once, in front of it.
//
//     for k in range(64):                           if i0 * 16 + i1 < 127:
//         if i0 * 16 + i1 < 127 and k < 60:   ==>       for k in range(64):
//             <body>                                        if k < 60: <body>
//
// A loop that holds nothing but a condition without the loop's variable becomes the condition around the loop; one
// with other parts keeps those. With an `else`, whole conditions only, and each case gets a loop.
//
// Needs   no blocks.
// Gives   conditions as far outside as single statements let them be.
// Keeps   values. Only conditions that cannot fail are moved (no divisions but by constants, no calls with effects, no loads where
//         the loop may be empty or writes what they read).
// Place   after loop_partition, which takes the rest; before vectorising, whose masks are smaller then.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto hoist_conditions(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
