// Programs of the command line on devices: the kernels of a selection, compiled by the device's driver and run in this process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/program.h"
#include "runtime/devices/device.h"
#include "runtime/devices/program.h"
#include "runtime/jit.h"
#include "target/gpu.h"

namespace loopsmith::driver {

using target::is_device_target;

/// The schedule of a selection, lowered for a device target and within the limits of that target.
[[nodiscard]] auto lower_for_device(const Selection& selection, const target::Target& target) -> Result<IRModule>;

/// The schedule of a selection, compiled for a device. Drivers start threads and programs and may crash: call it in a separate process.
[[nodiscard]] auto compile_for_device(const Selection& selection, std::shared_ptr<runtime::Device> device) -> Result<runtime::DeviceProgram>;

/// Runs the schedule of a selection on a device, and copies the results back into `values`.
[[nodiscard]] auto call_on_device(const Selection& selection, std::shared_ptr<runtime::Device> device, const std::vector<runtime::Value>& values) -> Status;

/// The first device of a selection's target.
[[nodiscard]] auto device_of(const Selection& selection) -> Result<std::shared_ptr<runtime::Device>>;

/// For comparisons of results: the first device of the target, else the first one of OpenCL, which gives the same results more slowly. An error if
/// there is none.
[[nodiscard]] auto checking_device(const target::Target& target) -> Result<std::shared_ptr<runtime::Device>>;

/// "NVIDIA H100, CUDA 13.0, 132 multiprocessors, 79.1 GiB, 1024 threads and 227 KB of shared memory a block"
[[nodiscard]] auto text_of(const runtime::DeviceFacts& facts) -> std::string;

/// Prints a description of the first device of a kind of target behind `+`; or the reason why there is none behind `-`, and the remedy on a separate line.
/// For processes that must not crash with a driver (`loopsmith worker --device KIND`).
auto describe_device(std::vector<std::string> args) -> int;

}  // namespace loopsmith::driver
