// The statements of a state as a schedule of tensor expressions: `dag.print_python_code_from_state(state)`.
#pragma once

#include <string>

#include "script/auto_scheduler/state.h"

namespace loopsmith::script::auto_scheduler {

/// Statements on a schedule `s`, with the tensors and axes in variables.
[[nodiscard]] auto python_code(const State& initial, const std::vector<Step>& steps) -> std::string;

}  // namespace loopsmith::script::auto_scheduler
