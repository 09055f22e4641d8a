// Hints about kernels: bank conflicts in shared memory, scattered accesses to global memory, and proofs that threads do not race.
#pragma once

#include "support/diagnostic.h"
#include "workspace/snapshot.h"

namespace loopsmith::driver {

/// The hints of the programs of a file with bound threads, and of the programs that its schedules make; the proofs of programs that write their barriers.
[[nodiscard]] auto warp_hints(const workspace::Snapshot& snapshot) -> Diagnostics;

}  // namespace loopsmith::driver
