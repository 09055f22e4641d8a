// The time of each loop of a kernel, from a second build of the kernel with calls of the profiler around its loops (transform/instrument_loops.h).
#pragma once

#include <string>
#include <vector>

#include "driver/execution.h"

namespace loopsmith::driver {

struct LoopTimeRow {
  int depth = 1;              // 1: outermost
  std::string loop;           // "i", with its kind unless it is serial
  std::string place;          // "softmax.tir:14"; empty: unknown
  double runs = 0;            // per call
  double seconds = 0;         // per call, summed over all threads
};

/// Loops of the schedule down to a depth, in the order of the lowered text. Calls the kernel for a fifth of a second. The profiler costs about 50 ns
/// per run of a loop, which the times of the enclosing loops include.
[[nodiscard]] auto loop_times(const Selection& selection, const Call& call, int depth) -> Result<std::vector<LoopTimeRow>>;

}  // namespace loopsmith::driver
