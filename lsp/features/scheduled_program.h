// The program that a schedule makes, as text: a function of its own behind the schedule, the program as written kept.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Of a schedule that runs to its end. `PROGRAM_SCHEDULE` (with a number where that is taken); of a module with several functions a class of
/// that name. Tried: the text with it has no new error, and what is read from it is the scheduled program, structurally. No edits: why not.
[[nodiscard]] auto apply_schedule(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule) -> TextRewrite;

}  // namespace loopsmith::lsp
