// Schedules of other programs as first candidates: the fastest recorded trace of a program of the same kind, such as another size of it, often applies to this one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedule/trace.h"
#include "tune/space/sketch.h"

namespace loopsmith::tune {

/// The trace with the first factor of each split left to the extent of its loop: the factors of one extent say nothing about another.
[[nodiscard]] auto for_any_extent(const schedule::Trace& trace) -> schedule::Trace;

/// A sketch of one point for each trace that applies to the program, at most `most`; of equal ones the first. A trace stands beside the name of its program.
[[nodiscard]] auto transferred_sketches(const SpaceContext& context, const std::vector<std::pair<std::string, schedule::Trace>>& traces, size_t most) -> Sketches;

}  // namespace loopsmith::tune
