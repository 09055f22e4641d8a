// A space of candidates that someone else proposes: each trace is a sketch of one point.
#pragma once

#include <vector>

#include "schedule/trace.h"
#include "tune/space/sketch.h"

namespace loopsmith::tune {

/// One sketch per entry, in the same order. If an entry has diagnostics instead of a trace, applying its sketch fails with them.
[[nodiscard]] auto space_of_traces(const std::vector<Result<schedule::Trace>>& traces) -> Sketches;

}  // namespace loopsmith::tune
