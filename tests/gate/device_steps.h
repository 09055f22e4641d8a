// Random schedules for devices: loops bound to blocks and threads, caches in shared memory that threads fill together, reductions across threads,
// virtual threads, software pipelines. Their steps are those of steps.h, so that any of them may be left out.
#pragma once

#include <vector>

#include "tests/gate/steps.h"

namespace loopsmith::gate {

/// Schedules the blocks of `main`, and returns the accepted steps. A step that a primitive refuses is counted and left out.
[[nodiscard]] auto random_device_steps(schedule::Schedule& sch, Random& random, StepCounts& counts) -> std::vector<Step>;

}  // namespace loopsmith::gate
