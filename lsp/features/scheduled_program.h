// The program that a schedule makes, as a new function behind the schedule; the program as written stays.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// For a schedule that runs to its end. The function is named `PROGRAM_SCHEDULE`, with a number if that name is used; for a module with several functions it is a
/// class with that name. The text with it has no new error, and parsing it gives a structurally equal program. No edits: see `why_not`.
[[nodiscard]] auto apply_schedule(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule) -> TextRewrite;

}  // namespace loopsmith::lsp
