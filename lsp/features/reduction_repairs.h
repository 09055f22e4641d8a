// Repairs of steps that come too late: a block that `decompose_reduction` took apart is moved no more. The step goes in front of it, or it
// behind the step, or it takes the reduction apart where the init was to go.
#pragma once

#include <vector>

#include "lsp/features/lines.h"
#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Of a step that was refused since its block, or one below its loop, is a half of a reduction; each was tried: all statements up to that one work then. At most two.
/// Empty: it was refused for something else, or nothing of the kind helps.
[[nodiscard]] auto reduction_repairs(const workspace::Snapshot& snapshot, const workspace::Finding& finding, const CancelToken& cancel) -> std::vector<TextRewrite>;

}  // namespace loopsmith::lsp
