// remove_no_op: drops statements that do nothing: empty loops and conditions, loops of no iterations, lets and
// allocations nobody uses, expressions evaluated for no effect.
//
// Needs   no blocks.
// Gives   nothing new.
// Keeps   values; effects (stores, calls that may have one, asserts, `while`).
// Place   last: passes before it leave what they made empty.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto remove_no_op(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
