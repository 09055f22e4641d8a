// Races between iterations that run at the same time, told to people.
#pragma once

#include "schedule/instances.h"
#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// Instances, all in all, of the function that are followed after each step that moves work.
constexpr int64_t most_followed_instances = 2048;

/// Two iterations of the loop touch an element, and one writes it: `races.block` is not null.
[[nodiscard]] auto race_error(const Context& cx, const Place& loop, const Races& races) -> Diagnostic;

}  // namespace loopsmith::schedule
