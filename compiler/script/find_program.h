// Finds the program that a schedule function of a file schedules, before the function runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "frontend/file.h"
#include "script/run.h"
#include "script/schedules.h"

namespace loopsmith::script {

/// The programs at the top of the file, with their names.
[[nodiscard]] auto programs_of(frontend::File& file) -> std::vector<std::pair<const frontend::Declaration*, Name>>;

/// The module from which the file imports a name: `kernels` of `from kernels import scale`; empty: none.
[[nodiscard]] auto module_of(frontend::File& file, Name name) -> std::string;

/// For a function that receives its schedule: the program that its decorator names, or the file's only program. Sets the program of `out`, or
/// its diagnostics.
void find_program(frontend::File& file, const ScheduleFunction& function, FileSchedule& out);

/// For a function that makes its schedule, `tir.Schedule(PROGRAM)`: the program that the statements before make or, if it is a parameter, the
/// file's only program; and the target of the surrounding `with`. `before`: the schedule in the previous version of the file; null: none. False: the
/// program is unknown, and the schedule is ignored like other Python.
[[nodiscard]] auto find_made_program(frontend::File& file, const ScheduleFunction& function, const FileSchedule* before, FileSchedule& out) -> bool;

/// The reason, in words, why the program of a function is unknown.
[[nodiscard]] auto why_unknown(frontend::File& file, const ScheduleFunction& function) -> std::string;

}  // namespace loopsmith::script
