// The run of a schedule by places in the text: the step at a place, and the values of variables there.
#pragma once

#include "script/run.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

inline constexpr size_t no_step = SIZE_MAX;

/// The schedule whose function is around an offset; of several schedules in a function, the one that the statement there works on. Null: none.
[[nodiscard]] auto schedule_at(const workspace::Snapshot& snapshot, uint32_t offset) -> const script::FileSchedule*;

/// For a cursor in the indentation of a line, the first byte of the statement; otherwise the offset itself.
[[nodiscard]] auto on_statement(const workspace::Snapshot& snapshot, uint32_t offset) -> uint32_t;

/// The step whose statement contains a byte of the function's declaration, or the last one above the byte; `no_step`: the byte is above all.
[[nodiscard]] auto step_at(const script::ScheduleRun& run, uint32_t at) -> size_t;

/// The schedule before step `index`, or with `after` the one after it; null: the step did not run, or no schedule exists before
/// the first step.
[[nodiscard]] auto state_at(const script::ScheduleRun& run, size_t index, bool after) -> const schedule::Schedule*;

/// The value of a variable before step `index`, or with `after` after it; null: none.
[[nodiscard]] auto variable_at(const script::ScheduleRun& run, size_t index, Name name, bool after) -> const schedule::Value*;

}  // namespace loopsmith::lsp
