// A space of candidates that someone else proposes: each trace is a sketch of one point.
#pragma once

#include <vector>

#include "schedule/trace.h"
#include "tune/space/sketch.h"

namespace loopsmith::tune {

/// The sketches have the order of the traces. A candidate without steps, with the reason for that, is not legal.
[[nodiscard]] auto space_of_traces(const std::vector<Result<schedule::Trace>>& traces) -> Sketches;

}  // namespace loopsmith::tune
