// Rewrites that keep the meaning of a text or explain it: repairs of refused calls, the other spelling of blocks, steps as a function of
// their own, fewer steps, steps explained, diagnostics as expectations of a test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/lines.h"
#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The edits of all remedies that are calls: instead of the refused one, or as a line before it. Each was tried when it was found.
[[nodiscard]] auto repairs_of(const workspace::Snapshot& snapshot, const workspace::Finding& finding) -> std::vector<TextRewrite>;

/// A comment below the line that expects the finding, as in tests/golden/analysis. Findings over several lines are marked on the first.
[[nodiscard]] auto as_expectation(const workspace::Snapshot& snapshot, const workspace::Finding& finding) -> TextRewrite;

/// Replaces the words of the whole file by those of another dialect. The title names the words that changed their meaning. No edits: the file is
/// written in the dialect already.
[[nodiscard]] auto migration_to(const workspace::Snapshot& snapshot, Dialect dialect) -> TextRewrite;

/// Writes a comment above every step of the schedule at an offset: the effect of its primitives in general, and their result here. No edits: no
/// schedule is there, or it has the comments already.
[[nodiscard]] auto explain_schedule(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

/// The statements of a schedule that a selection touches, as a function of their own that is called instead; of one at the top of the file as
/// well. No edits: the selection is in no schedule, or empty, or holds the statement that makes the schedule.
[[nodiscard]] auto extract_steps(const workspace::Snapshot& snapshot, Span selection) -> TextRewrite;

/// Replaces a schedule by another schedule function for the same program. A schedule function is replaced and keeps its name; behind
/// `sch = tir.Schedule(...)` only the steps are replaced, and other statements stay. No edits: see `why_not`.
[[nodiscard]] auto replace_schedule(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, std::string_view function_text) -> TextRewrite;

/// The statements that may be removed: only steps of the schedule (statements that check, print or return something stay, with those that they use), or
/// any statement, where only the error matters.
enum class Removed : uint8_t { Steps, Statements };

/// Removes the steps of the schedule at an offset that its result does not need: the program that it makes or, where it stops, the error that
/// stops it. Runs the schedule once per step. No edits: every step is needed.
[[nodiscard]] auto minimise_schedule(const workspace::Snapshot& snapshot, uint32_t at, Removed removed, const CancelToken& cancel) -> TextRewrite;

}  // namespace loopsmith::lsp
