// Checks of kernels: see cases.h. A case is lowered for CUDA and interpreted, its CUDA text runs on the processor (tests/device), its OpenCL text on the
// OpenCL driver of this machine.
#pragma once

#include <optional>

#include "interp/compare.h"
#include "tests/gate/cases.h"

namespace loopsmith::gate {

/// Checks the kernels of a scheduled program. `before`: the program as written, with its results; `function`: its `main`. `refusals` gets the reason where
/// lowering or printing reports that a device has no code for the schedule.
[[nodiscard]] auto check_kernels(const interp::Before& before, const PrimFunc& function, const IRModule& program, const IRModule& scheduled, uint64_t seed,
                                 const CheckOptions& options, std::vector<std::string>* refusals) -> std::optional<Failure>;

}  // namespace loopsmith::gate
