// A call of a helper replaced by what the helper does.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The call at an offset, of a function of this file in a statement of another one, replaced by the function's statements: parameters by
/// arguments (or given their values first), names that mean something else there by others. The function itself stays. No edits: there is
/// no such call, or `why_not`.
[[nodiscard]] auto inline_helper(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

}  // namespace loopsmith::lsp
