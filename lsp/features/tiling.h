// A nest of two loops made tiles: both split, the outer parts around the inner ones.
#pragma once

#include <optional>

#include "lsp/features/moves.h"
#include "lsp/features/insertion_point.h"
#include "support/process.h"

namespace loopsmith::lsp {

/// For a loop with another one as its whole body: two `split`s and a `reorder`, with factors that divide both extents, those that should pay
/// most of a few. None: there is no such nest, or its extents are not known. Tried until `until`, once at least.
[[nodiscard]] auto tiling_offered(const InsertionPoint& point, const schedule::FuncState& func, const schedule::Place& focus, Deadline until) -> std::optional<OfferedMove>;

}  // namespace loopsmith::lsp
