// The reduction loops of a block as one innermost loop: see reduction_loops.h.
#include "tune/metaschedule/rules/reduction_loops.h"

#include "tune/metaschedule/loop_roles.h"
#include "tune/metaschedule/rules/block_facts.h"

namespace loopsmith::tune::rules {

auto reorder_and_fuse_reduction_loops(Schedule& sch, BlockRV block) -> Result<ReductionLoops> {
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  std::vector<LoopRV> order, reduction;
  for (LoopRV loop : loops) {
    LOOPSMITH_TRY(place, sch.get(loop));
    (metaschedule::role_of(*place->loop) == metaschedule::LoopRole::Spatial ? order : reduction).push_back(loop);
  }
  ReductionLoops out{.fused = {}, .spatial_loops = order.size()};
  order.insert(order.end(), reduction.begin(), reduction.end());
  if (order != loops) { LOOPSMITH_CHECK(reorder(sch, order)); }
  if (reduction.size() == 1) {
    out.fused = reduction.front();
  } else {
    LOOPSMITH_TRY(fused, fuse(sch, reduction));
    out.fused = fused;
  }
  return out;
}

}  // namespace loopsmith::tune::rules
