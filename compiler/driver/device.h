// Programs of the command line on devices: the kernels of a selection, compiled by the device's driver and run in this process.
#pragma once

#include <string>
#include <vector>

#include "driver/program.h"
#include "runtime/jit.h"

namespace loopsmith::driver {

/// True for targets whose kernels a device of this machine may run: `opencl`.
[[nodiscard]] auto is_device_target(const target::Target& target) -> bool;

/// Runs the schedule of a selection on the first device of its target, and copies the results back into `values`. Gives the device's name. Drivers
/// start threads and programs of their own and may crash: call it in a process of its own.
[[nodiscard]] auto call_on_device(const Selection& selection, const std::vector<runtime::Value>& values) -> Result<std::string>;

}  // namespace loopsmith::driver
