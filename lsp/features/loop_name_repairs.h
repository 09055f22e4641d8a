// Repairs of a statement that binds too few names to the loops around a block: `i, j = sch.get_loops(c)` for three loops.
#pragma once

#include <vector>

#include "lsp/features/lines.h"
#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Adds the program's names for the loops without a name. The repair was tried, and the statement runs with it. At most one repair;
/// empty: the finding has another cause.
[[nodiscard]] auto loop_name_repairs(const workspace::Snapshot& snapshot, const workspace::Finding& finding, const CancelToken& cancel) -> std::vector<TextRewrite>;

}  // namespace loopsmith::lsp
