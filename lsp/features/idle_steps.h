// Steps of a schedule that change nothing: primitives without an effect, and look-ups whose results are not used.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Removes from the schedule at an offset all steps that change nothing, and the steps that only they used. Draws stay, because later draws
/// would have other values without them; steps that print or call a function stay, too. No edits: every step changes something, or is used.
[[nodiscard]] auto drop_idle_steps(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

}  // namespace loopsmith::lsp
