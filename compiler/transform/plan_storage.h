// plan_storage: chooses stack or workspace memory for every allocation.
//
// Small allocations of constant size use the stack ("storage": "stack"), where tiles of accumulators become
// registers. Larger ones, and those of unknown size, use the workspace ("storage": "workspace"); their allocations
// move out of serial loops, so that memory is requested once and not in every iteration. In kernels of GPUs, allocations of any size stay in
// their place: they are shared memory of the block, or memory of a thread.
//
// Needs   flat buffers.
// Gives   annotations["storage"] on every Allocate; conditions of allocations are true.
// Keeps   values.
// Place   after unrolling, which repeats allocations; late, so that no pass changes sizes afterwards.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto plan_storage(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
