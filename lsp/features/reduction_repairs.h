// Repairs of a step that follows `decompose_reduction` and fails because the block can no longer move. Either the step moves in front of the decomposition,
// or the decomposition moves behind the step, or it decomposes at the loop that the init should move to.
#pragma once

#include <vector>

#include "lsp/features/lines.h"
#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// For a step that was refused because its block, or a block in its loop, is half of a decomposed reduction. Each repair was tried: all statements up to the step run. At most two.
/// Empty: the step was refused for another reason, or no such repair works.
[[nodiscard]] auto reduction_repairs(const workspace::Snapshot& snapshot, const workspace::Finding& finding, const CancelToken& cancel) -> std::vector<TextRewrite>;

}  // namespace loopsmith::lsp
