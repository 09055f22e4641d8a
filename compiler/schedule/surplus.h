// Surplus iterations: a loop that runs longer than it did, without a predicate that keeps the iterations beyond its old end from running.
#pragma once

#include <cstdint>

#include "schedule/state.h"

namespace loopsmith::schedule {

/// True where a loop may have `extent` iterations instead of fewer: each block instance that then runs in addition is one that the loops of the
/// scope run anyway, with the same result, and nobody sees that it runs twice.
[[nodiscard]] auto surplus_changes_nothing(const FuncState& func, const Place& loop, int64_t extent) -> bool;

}  // namespace loopsmith::schedule
