// Compares the kernels of a schedule with the program as written, on random inputs. Call it in a separate process, because drivers may crash.
#pragma once

#include <memory>
#include <string>

#include "driver/program.h"
#include "runtime/devices/device.h"

namespace loopsmith::driver {

struct DeviceCheck {
  bool is_equal = false;
  bool is_compared = false;
  std::string how = {};      // "2 inputs on OpenCL's device `X`: all outputs against the interpreter"
  std::string note = {};     // the first difference, or the reason why they were not compared
};

/// Runs the kernels on the device and compares all outputs, first on small integers, then on reals. Small programs are compared with the interpreter, large ones
/// with the program as written, compiled for this machine without optimisation, and on sampled elements with the interpreter. `seconds`: the interpreter's limit.
[[nodiscard]] auto check_on_device(const Selection& selection, std::shared_ptr<runtime::Device> device, double seconds) -> DeviceCheck;

/// "OpenCL's device `X`", "NVIDIA's device `Y`".
[[nodiscard]] auto called(const runtime::Device& device) -> std::string;

}  // namespace loopsmith::driver
