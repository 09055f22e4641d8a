// Repairs of a statement that gives too few names to the loops around a block: `i, j = sch.get_loops(c)` of three.
#pragma once

#include <vector>

#include "lsp/features/lines.h"
#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Adds the program's names of the loops that have none; the written names stay. The repair was tried, and the statement runs with it. At most one;
/// empty: the finding is of another kind.
[[nodiscard]] auto loop_name_repairs(const workspace::Snapshot& snapshot, const workspace::Finding& finding, const CancelToken& cancel) -> std::vector<TextRewrite>;

}  // namespace loopsmith::lsp
