// Diagnostics for races between iterations that run at the same time.
#pragma once

#include <vector>

#include "schedule/counted_races.h"
#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// The most instances of the function that are run after each step that moves work.
constexpr int64_t most_followed_instances = 2048;

/// The error that two iterations of the loop touch an element, and one of them writes it. `races.block` is not null.
[[nodiscard]] auto race_error(const Context& cx, const Place& loop, const Races& races) -> Diagnostic;

/// True if the loops between `loop` and a block below it compute the block's elements again, while the block's producers still run there.
[[nodiscard]] auto rewrites(const FuncState& func, const Place& place, const Place& loop) -> bool;

/// A block below a loop that writes elements which several iterations write, according to the regions of all writers of the buffer there; null: none is
/// known. Iterations of one block that neither reduces nor copies incomplete elements write the same values where they overlap.
[[nodiscard]] auto may_meet(const FuncState& func, const Place& loop, const Buffer& buffer) -> const Place*;

/// For loops whose iterations run at the same time before and after a step. Checks that no iteration touches an element that another one writes, unless it
/// did so before the step. Covers the instances that can be counted.
[[nodiscard]] auto require_no_new_race(const Context& cx, const Outcome& outcome, const std::vector<NodeId>& loops) -> Status;

}  // namespace loopsmith::schedule
