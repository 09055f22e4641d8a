// Where a block may run: the loops under which it can be computed. For compute_at and reverse_compute_at, and for sample_compute_location, which
// lists places.
#pragma once

#include "schedule/placement/nest.h"
#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// A block under another loop, proved legal.
struct Placement {
  Rewrite::Change removal;                   // of the block from where it stands, with loops that hold nothing else
  int position = 0;                          // the number of the loop's statement in front of which the block goes
  placement::Nest nest;
};

/// index: -1 the last place possible, -2 the first, or the number of the statement in front of which the block shall stand.
struct PlacementOptions { bool preserve_unit_loops = false; int64_t index = -1; };
/// Under a loop of the block's consumers.
[[nodiscard]] auto plan_compute_at(const Context& cx, const BlockArg& block, const LoopArg& loop, PlacementOptions options) -> Result<Placement>;
/// Under a loop of its producers.
[[nodiscard]] auto plan_reverse_compute_at(const Context& cx, const BlockArg& block, const LoopArg& loop, PlacementOptions options) -> Result<Placement>;

/// Inlining as compute_inline does it; with `reverse` as reverse_compute_inline does.
[[nodiscard]] auto plan_inline(const Context& cx, const BlockArg& block, bool reverse) -> Result<Outcome>;

}  // namespace loopsmith::schedule
