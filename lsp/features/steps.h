// The run of a schedule seen from the text: which step a place belongs to, and what variables stand for there.
#pragma once

#include "script/run.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

inline constexpr size_t no_step = SIZE_MAX;

/// The schedule whose function holds an offset, of several that it makes the one that the statement there is about; null: none.
[[nodiscard]] auto schedule_at(const workspace::Snapshot& snapshot, uint32_t offset) -> const script::FileSchedule*;

/// A cursor in the indentation of a line is on the line's statement: its first letter. Else the offset as it is.
[[nodiscard]] auto on_statement(const workspace::Snapshot& snapshot, uint32_t offset) -> uint32_t;

/// The step whose statement a byte of the function's declaration is in, or the last one above it; `no_step`: above all.
[[nodiscard]] auto step_at(const script::ScheduleRun& run, uint32_t at) -> size_t;

/// The schedule before step `index`, or `after` it; null: not run so far. Before the first step it is the plain program,
/// for which there is no schedule: null too.
[[nodiscard]] auto state_at(const script::ScheduleRun& run, size_t index, bool after) -> const schedule::Schedule*;

/// What a variable was last bound to before step `index`, or by it (`after`); null: nothing.
[[nodiscard]] auto variable_at(const script::ScheduleRun& run, size_t index, Name name, bool after) -> const schedule::Value*;

}  // namespace loopsmith::lsp
