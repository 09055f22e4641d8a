// Planted faults of kernels: the code that lowering made, its text, or its launches, made wrong in one place. In a build without faults the functions
// return their argument.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "runtime/devices/device.h"

namespace loopsmith::gate {

/// The planted fault in kernels that are not functions of their own yet. `seed` chooses the place.
[[nodiscard]] auto planted_in_kernels(const IRModule& kernels, uint64_t seed) -> IRModule;
/// The planted fault in the text of kernels.
[[nodiscard]] auto planted_in_text(const std::string& text, uint64_t seed) -> std::string;
/// The planted fault in the size of a launch.
[[nodiscard]] auto planted_in_launch(const runtime::LaunchSize& size, uint64_t seed) -> runtime::LaunchSize;

/// The names of all faults of kernels.
[[nodiscard]] auto all_device_faults() -> std::vector<std::string>;

}  // namespace loopsmith::gate
