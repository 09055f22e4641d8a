// The threads of a block against the limits of a target in the table of architectures (target/gpu.h). Sizes of memory are known after lowering, which
// shrinks buffers: runtime/devices/limits.h checks them.
#pragma once

#include <string_view>

#include "ir/ir.h"
#include "support/diagnostic.h"
#include "target/target.h"

namespace loopsmith::analysis {

/// An error for each kernel of the function that launches more threads of a block than the target allows. Threads whose number is not constant are not counted.
/// Empty for targets that are not GPUs, and for those whose limits depend on the device.
[[nodiscard]] auto threads_over_limit(const PrimFunc& func, std::string_view name, const target::Target& target) -> Diagnostics;

}  // namespace loopsmith::analysis
