// Repairs of a statement that gives too few names to the loops around a block: `i, j = sch.get_loops(c)` of three.
#pragma once

#include <vector>

#include "lsp/features/lines.h"
#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// What is written is kept, and the loops beyond have the program's names. It was tried: the statement works with it. At most one; empty: the
/// finding is of another kind.
[[nodiscard]] auto loop_name_repairs(const workspace::Snapshot& snapshot, const workspace::Finding& finding, const CancelToken& cancel) -> std::vector<TextRewrite>;

}  // namespace loopsmith::lsp
