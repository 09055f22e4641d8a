// The factor of a split under the cursor, and what others in its place would come to: what the loops of the nest touch, which cache
// holds that, how fast the program should be. Schedules are done again with them (cost/what_if.h); nothing is executed.
#pragma once

#include <optional>
#include <vector>

#include "cost/what_if.h"
#include "lsp/features/hover.h"
#include "lsp/features/lines.h"
#include "support/cancel.h"

namespace loopsmith::lsp {

/// Of a number in `factors=[...]` of a split that ran once: a fact labelled "factor" for each of the nearest others, fewer in a long
/// schedule. Empty: the cursor is on none, or the schedule has more than 200 steps.
[[nodiscard]] auto hover_factor(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<HoverInfo>;

/// The number replaced by the next smaller and the next larger one, and by the one that should be fastest, where all steps behind it
/// accept that.
[[nodiscard]] auto other_factors_offered(const workspace::Snapshot& snapshot, uint32_t at, const CancelToken& cancel) -> std::vector<TextRewrite>;

}  // namespace loopsmith::lsp
