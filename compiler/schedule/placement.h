// The loops under which a block can be computed. For compute_at and reverse_compute_at, and for sample_compute_location, which
// lists possible places.
#pragma once

#include "schedule/placement/nest.h"
#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// A block under another loop, proved legal.
struct Placement {
  Rewrite::Change removal;                   // removes the block from its old place, with loops that contain nothing else
  int position = 0;                          // the position of the statement in the loop's body in front of which the block goes
  placement::Nest nest;
};

/// `index`: the position of the statement in front of which the block goes; -1 for the last possible position, -2 for the first.
struct PlacementOptions { bool preserve_unit_loops = false; int64_t index = -1; };
/// Under a loop of the block's consumers.
[[nodiscard]] auto plan_compute_at(const Context& cx, const BlockArg& block, const LoopArg& loop, PlacementOptions options) -> Result<Placement>;
/// Under a loop of its producers.
[[nodiscard]] auto plan_reverse_compute_at(const Context& cx, const BlockArg& block, const LoopArg& loop, PlacementOptions options) -> Result<Placement>;

/// Plans the inlining of a block as compute_inline does it; with `reverse`, as reverse_compute_inline does.
[[nodiscard]] auto plan_inline(const Context& cx, const BlockArg& block, bool reverse) -> Result<Outcome>;

}  // namespace loopsmith::schedule
