// Rewrites of a text that keep what it means, or say more: repairs of refused calls, the other spelling of blocks, steps as a function of
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

/// `T.block` as `T.sblock` all over the file, or back, with all that is spelled along with it. No edits: there are no blocks.
[[nodiscard]] auto switch_block_spelling(const workspace::Snapshot& snapshot) -> TextRewrite;

/// A comment above every step of the schedule at an offset: what its primitives do, and what came of them here. No edits: no schedule, or
/// nothing new to say.
[[nodiscard]] auto explain_schedule(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;

/// The statements of a schedule that a selection touches, as a function of their own that is called instead; of one at the top of the file as
/// well. No edits: the selection is in no schedule, or empty, or holds the statement that makes the schedule.
[[nodiscard]] auto extract_steps(const workspace::Snapshot& snapshot, Span selection) -> TextRewrite;

/// Another schedule function for the same program in place of a schedule: of a function with its name, of statements behind
/// `sch = tir.Schedule(...)` as statements in place of its steps. Statements that do something else stay. No edits: why not.
[[nodiscard]] auto replace_schedule(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, std::string_view function_text) -> TextRewrite;

/// What may go: steps of the schedule, where people go on with the text (what checks, prints or gives something back stays, and what it uses), or
/// any statement, where only the error is wanted.
enum class Removed : uint8_t { Steps, Statements };

/// The schedule at an offset without the steps whose absence changes nothing: of a schedule that runs to its end the program it makes, of
/// one that stops the error it stops with. Runs the schedule once per step. No edits: each is needed.
[[nodiscard]] auto minimise_schedule(const workspace::Snapshot& snapshot, uint32_t at, Removed removed, const CancelToken& cancel) -> TextRewrite;

}  // namespace loopsmith::lsp
