// Hints about the accesses of warps: bank conflicts in shared memory, scattered accesses to global memory.
#pragma once

#include "support/diagnostic.h"
#include "workspace/snapshot.h"

namespace loopsmith::driver {

/// The hints of the programs of a file with bound threads, and of the programs that its schedules make.
[[nodiscard]] auto warp_hints(const workspace::Snapshot& snapshot) -> Diagnostics;

}  // namespace loopsmith::driver
