// Rewrites that keep the meaning of a text, or explain it: repairs of refused calls, migration to another dialect, steps as a function,
// fewer steps, steps explained in comments, diagnostics as expectations of a test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/lines.h"
#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The edits of all remedies that are calls: in place of the refused call, or on a line before it. Each was tried when it was found.
[[nodiscard]] auto repairs_of(const workspace::Snapshot& snapshot, const workspace::Finding& finding) -> std::vector<TextRewrite>;

/// A comment below the line that expects the finding, as in tests/golden/analysis. Findings over several lines are marked on the first.
[[nodiscard]] auto as_expectation(const workspace::Snapshot& snapshot, const workspace::Finding& finding) -> TextRewrite;

/// Migrates the whole file to another dialect. The title lists the words whose meaning changed. No edits: the file is
/// already in the dialect.
[[nodiscard]] auto migration_to(const workspace::Snapshot& snapshot, Dialect dialect) -> TextRewrite;

/// Inserts a comment above every step of the schedule at an offset: the general effect of its primitives, and their effect here. No edits: no
/// schedule is there, or it already has the comments.
[[nodiscard]] auto explain_schedule(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;
/// The title of that rewrite, without the time that its edits take; empty: there is nothing to explain.
[[nodiscard]] auto explanation_title(const workspace::Snapshot& snapshot, uint32_t at) -> std::string;

/// Moves the statements of a schedule that a selection touches into a new function, and calls it; also at the top of a
/// file. No edits: the selection is empty or in no schedule, or contains the statement that makes the schedule.
[[nodiscard]] auto extract_steps(const workspace::Snapshot& snapshot, Span selection) -> TextRewrite;

/// `workspace::replace_schedule` with the names that the snapshot's text uses.
[[nodiscard]] auto replace_schedule(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, std::string_view function_text) -> TextRewrite;

/// The statements that may be removed. Steps: only steps of the schedule (statements that check, print or return something stay, with the steps that they need).
/// Statements: any statement, for cases in which only the error matters.
enum class Removed : uint8_t { Steps, Statements };

/// Removes the steps of the schedule at an offset that its result does not need. The result is the program that it makes, or the error that
/// stops it. Runs the schedule once per step. No edits: every step is needed.
[[nodiscard]] auto minimise_schedule(const workspace::Snapshot& snapshot, uint32_t at, Removed removed, const CancelToken& cancel) -> TextRewrite;

}  // namespace loopsmith::lsp
