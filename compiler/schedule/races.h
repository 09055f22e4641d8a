// Races between iterations that run at the same time, told to people.
#pragma once

#include <vector>

#include "schedule/counted_races.h"
#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// Instances, all in all, of the function that are followed after each step that moves work.
constexpr int64_t most_followed_instances = 2048;

/// Two iterations of the loop touch an element, and one writes it: `races.block` is not null.
[[nodiscard]] auto race_error(const Context& cx, const Place& loop, const Races& races) -> Diagnostic;

/// Does a block below a loop go over its elements again in loops between, while what it reads is still being made there?
[[nodiscard]] auto rewrites(const FuncState& func, const Place& place, const Place& loop) -> bool;

/// A block below a loop that writes a buffer which iterations may meet in, by the regions of all that write it there; null: none is known
/// to. Iterations of one block that does not reduce, and does not copy what is not complete yet, write the same where they do.
[[nodiscard]] auto may_meet(const FuncState& func, const Place& loop, const Buffer& buffer) -> const Place*;

/// Of loops whose iterations run at the same time before and after a step: none touches what another one writes that did not before, as far
/// as their instances can be counted.
[[nodiscard]] auto require_no_new_race(const Context& cx, const Outcome& outcome, const std::vector<NodeId>& loops) -> Status;

}  // namespace loopsmith::schedule
