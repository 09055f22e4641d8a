// The factor of a split at the cursor, and the effect of other factors: the memory that loops of the nest touch, the cache that
// holds it, the estimated time. Schedules are replayed with the other factors (cost/what_if.h); programs are never run.
#pragma once

#include <optional>
#include <vector>

#include "cost/what_if.h"
#include "lsp/features/hover.h"
#include "lsp/features/lines.h"
#include "support/cancel.h"

namespace loopsmith::lsp {

/// On a number in `factors=[...]` of a split that ran once: a fact with the key "factor" for each of the nearest other values, fewer in a long
/// schedule. None: no such number is at the cursor, or the schedule has more than 200 steps.
[[nodiscard]] auto hover_factor(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<HoverInfo>;

/// Replacements of the number by the next smaller one, the next larger one, and the one with the best estimate, if all later steps still
/// run with it.
[[nodiscard]] auto other_factors_offered(const workspace::Snapshot& snapshot, uint32_t at, const CancelToken& cancel) -> std::vector<TextRewrite>;

}  // namespace loopsmith::lsp
