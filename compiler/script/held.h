// The steps of a schedule that still work after its program has changed, as text.
#pragma once

#include <string>

#include "script/run.h"

namespace loopsmith::script {

/// "all 5 steps still hold", "steps 1-6 still hold, step 7 does not: cannot ...". Steps are the statements of the schedule.
[[nodiscard]] auto what_holds(const ScheduleRun& run) -> std::string;

}  // namespace loopsmith::script
