// The program that a schedule makes, as text: a function of its own behind the schedule, the program as written kept.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// For a schedule that runs to its end. The function is `PROGRAM_SCHEDULE`, with a number where that name is taken; for a module with several functions a
/// class of that name. The text with it has no new error, and reading it gives the scheduled program, structurally. No edits: see `why_not`.
[[nodiscard]] auto apply_schedule(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule) -> TextRewrite;

}  // namespace loopsmith::lsp
