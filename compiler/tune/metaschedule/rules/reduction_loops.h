// The reduction loops of a block as one innermost loop, for the rules that distribute a reduction.
#pragma once

#include "tune/metaschedule/rules/calls.h"

namespace loopsmith::tune::rules {

struct ReductionLoops {
  LoopRV fused;
  size_t spatial_loops = 0;   // the number of spatial loops around it
};

/// Moves the reduction loops inside the spatial ones where they are not, and fuses them. The block has only spatial and reduction loops.
[[nodiscard]] auto reorder_and_fuse_reduction_loops(Schedule& sch, BlockRV block) -> Result<ReductionLoops>;

}  // namespace loopsmith::tune::rules
