// Where a block may run: the loops under which it can be computed. Used by compute_at and reverse_compute_at, and by
// sample_compute_location to list places.
#pragma once

#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// What moving a block under a loop takes.
struct Placement {
  Rewrite::Change removal;
  Rewrite::Insert insertion;
};

/// `reverse`: under a loop of its producers, else of its consumers. index: -1 the last place possible, -2 the first, or
/// the number of the statement before which to stand.
[[nodiscard]] auto plan_placement(const Context& cx, const BlockArg& block, const LoopArg& loop, bool reverse, bool preserve_unit_loops, int64_t index)
    -> Result<Placement>;

/// Inlining as compute_inline does it, `reverse` as reverse_compute_inline does.
[[nodiscard]] auto plan_inline(const Context& cx, const BlockArg& block, bool reverse) -> Result<Outcome>;

}  // namespace loopsmith::schedule
