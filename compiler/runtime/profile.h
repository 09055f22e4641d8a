// Times of loops in compiled code that calls the profiler (transform/instrument_loops.h): the number of runs of each
// numbered loop and their seconds, over all threads. The counts belong to the process: profile one program at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace loopsmith::runtime {

struct LoopTime {
  int64_t number = 0;
  int64_t runs = 0;
  double seconds = 0;       // summed over all threads
};

/// Loops that ran since the last `reset_profile`, by number. Must not be called while kernels run.
[[nodiscard]] auto profile() -> std::vector<LoopTime>;
void reset_profile();

}  // namespace loopsmith::runtime

// Functions that kernels call. Loops with numbers of 4096 and above are not counted.
extern "C" {
void loopsmith_profile_start(int64_t number);
void loopsmith_profile_end(int64_t number);
}
