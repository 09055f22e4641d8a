// Bounds on the threads of a block, as products of sampled factors: most random tiles have too few or too many threads, and are recognised here without a replay.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/trace.h"
#include "tune/space/sketch.h"

namespace loopsmith::tune {

struct ThreadBound {
  int64_t low = 1, high = 0;                         // inclusive
  int64_t constant = 1;
  std::vector<std::pair<size_t, size_t>> factors;    // of the product: a knob, and the number of a factor in its choice
};

/// The bounds that a trace annotates (`meta_schedule.thread_extent_low_inclusive` and `high`) on loops that are split by sampled factors, fused and bound.
/// `knobs`: the instructions of the knobs, by number in the trace.
[[nodiscard]] auto thread_bounds(const schedule::Trace& trace, const std::vector<size_t>& knobs) -> std::vector<ThreadBound>;

/// False if a point breaks a bound.
[[nodiscard]] auto is_within(const std::vector<ThreadBound>& bounds, const std::vector<Knob>& knobs, const Point& point) -> bool;

}  // namespace loopsmith::tune
