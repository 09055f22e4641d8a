// remove_no_op: drops statements without effect: empty loops and conditions, loops without iterations, unused lets
// and allocations, evaluations of expressions without effects.
//
// Needs   no blocks.
// Gives   no new guarantee.
// Keeps   values; effects (stores, calls that may have one, asserts, `while`).
// Place   near the end: earlier passes leave empty statements behind.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto remove_no_op(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
