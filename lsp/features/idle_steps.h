// Steps of a schedule that change nothing: primitives without an effect there, look-ups whose results nobody uses.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The schedule at an offset without all steps that change nothing, and without what only they used. Draws stay, since those behind them
/// would be others, as does what prints or calls a function. No edits: every step does something, or is used.
[[nodiscard]] auto drop_idle_steps(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

}  // namespace loopsmith::lsp
