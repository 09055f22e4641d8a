// Rewrites that write the values drawn by sampling calls into the schedule: as constants instead of the calls, or as their `decision=`.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Replaces every sampling call of the schedule at an offset by the number, list or loop that it drew, even if it has a `decision`. A call that
/// drew another choice (inline the block, leave it where it is) stays, with its decision. No edits: the schedule draws nothing, or `why_not`.
[[nodiscard]] auto decisions_as_constants(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

/// Adds `decision=` with the drawn value to every sampling call of the schedule that has none. No edits: each has one, or `why_not`.
[[nodiscard]] auto decisions_as_arguments(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

/// Replaces the factors of the `split` at an offset by those of a `sample_perfect_tile` in front of it, with the same factors as its decision: a
/// search may then draw others. No edits: no such split is there, or `why_not`.
[[nodiscard]] auto factors_as_draws(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

}  // namespace loopsmith::lsp
