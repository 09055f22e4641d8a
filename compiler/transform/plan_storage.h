// plan_storage: says of every allocation where its memory comes from.
//
// Small allocations of constant size go on the stack ("storage": "stack"), where tiles of accumulators become
// registers; larger ones, and those of unknown size, come from the workspace ("storage": "workspace"), outside
// the serial loops around them, so that memory is asked for once and not in every iteration.
//
// Needs   flat buffers.
// Gives   annotations["storage"] on every Allocate; conditions of allocations are true.
// Keeps   values.
// Place   after unrolling, which repeats allocations; late, so that nothing changes sizes afterwards.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto plan_storage(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
