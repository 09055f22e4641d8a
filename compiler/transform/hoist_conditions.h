// hoist_conditions: moves loop-invariant conditions in front of the loop.
//
//     for k in range(64):                           if i0 * 16 + i1 < 127:
//         if i0 * 16 + i1 < 127 and k < 60:   ==>       for k in range(64):
//             <body>                                        if k < 60: <body>
//
// It applies to loops whose only statement is a condition. The parts of the condition without the loop's variable move
// outside, the others stay. A condition with an `else` moves only as a whole, and each case gets a loop.
//
// Needs   no blocks.
// Gives   conditions as far outside as possible.
// Keeps   values. Only conditions that cannot fail are moved: divisions only by constants, no calls with effects, no loads if
//         the loop may be empty or writes the loaded buffer.
// Place   after loop_partition, which removes other conditions; before vectorize_loop, whose masks become smaller.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto hoist_conditions(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
