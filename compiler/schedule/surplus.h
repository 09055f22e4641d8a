// Surplus iterations: a loop runs longer than before, and no predicate excludes the iterations beyond its old end.
#pragma once

#include <cstdint>

#include "schedule/state.h"

namespace loopsmith::schedule {

/// True if a loop may have `extent` iterations instead of fewer: each additional block instance is one that the loops of the
/// scope run anyway, with the same result, and no other code depends on the number of its runs.
[[nodiscard]] auto surplus_changes_nothing(const FuncState& func, const Place& loop, int64_t extent) -> bool;

}  // namespace loopsmith::schedule
