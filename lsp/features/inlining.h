// Replaces a call of a helper by the statements of the helper.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Replaces the call at an offset, of another function of this file, by that function's statements. Its parameters become the arguments (or variables
/// with their values), and names that already have a meaning at the call are renamed. The function itself stays. No edits: no
/// such call is there, or `why_not`.
[[nodiscard]] auto inline_helper(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

}  // namespace loopsmith::lsp
