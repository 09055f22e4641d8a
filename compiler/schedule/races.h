// Races between iterations that run at the same time, as diagnostics.
#pragma once

#include <vector>

#include "schedule/counted_races.h"
#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// The number of instances of the function, all in all, that are followed after each step that moves work.
constexpr int64_t most_followed_instances = 2048;

/// Two iterations of the loop touch an element, and one writes it: `races.block` is not null.
[[nodiscard]] auto race_error(const Context& cx, const Place& loop, const Races& races) -> Diagnostic;

/// True where a block below a loop computes its elements again in loops between, while its producers still run there.
[[nodiscard]] auto rewrites(const FuncState& func, const Place& place, const Place& loop) -> bool;

/// A block below a loop that writes elements of a buffer which several iterations write, by the regions of all writers there; null: none is
/// known. Iterations of one block that neither reduces nor copies incomplete elements write the same values where they meet.
[[nodiscard]] auto may_meet(const FuncState& func, const Place& loop, const Buffer& buffer) -> const Place*;

/// For loops whose iterations run at the same time before and after a step: no iteration touches elements that another one writes and that it
/// did not touch before, as far as their instances can be counted.
[[nodiscard]] auto require_no_new_race(const Context& cx, const Outcome& outcome, const std::vector<NodeId>& loops) -> Status;

}  // namespace loopsmith::schedule
