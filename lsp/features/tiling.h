// Tiles a nest of two loops: both are split, and the outer parts moved around the inner ones.
#pragma once

#include <optional>

#include "lsp/features/moves.h"
#include "lsp/features/insertion_point.h"
#include "support/process.h"

namespace loopsmith::lsp {

/// For a loop whose whole body is another loop: two `split`s and a `reorder`, with factors that divide both extents; of a few pairs of factors the pair
/// with the best estimate. None: no such nest is there, or its extents are not constants. At least one pair is tried, others until `until`.
[[nodiscard]] auto tiling_offered(const InsertionPoint& point, const schedule::FuncState& func, const schedule::Place& focus, Deadline until) -> std::optional<OfferedMove>;

}  // namespace loopsmith::lsp
