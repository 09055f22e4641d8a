// What a schedule's sampling calls drew, written into its text: as constants instead of the calls, or as their `decision=`.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Instead of every sampling call of the schedule at an offset what it drew, with a `decision` or without: numbers, lists, loops. One that
/// chose no loop but a way (inlined, left where it is) keeps its call, with the decision. No edits: it draws nothing, or `why_not`.
[[nodiscard]] auto decisions_as_constants(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

/// `decision=` with what was drawn, in every sampling call of the schedule that has none. No edits: each has one, or `why_not`.
[[nodiscard]] auto decisions_as_arguments(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

/// The factors of the `split` at an offset as those of a `sample_perfect_tile` in front of it that draws the same: what a search may then draw
/// otherwise. No edits: it is no such split, or `why_not`.
[[nodiscard]] auto factors_as_draws(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

}  // namespace loopsmith::lsp
