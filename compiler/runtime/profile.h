// Times of loops in compiled code that calls the profiler (transform/instrument_loops.h): how often each numbered loop
// ran, and for how long, over all threads. For a person's question, one program at a time: the counts are the process's.
#pragma once

#include <cstdint>
#include <vector>

namespace loopsmith::runtime {

struct LoopTime {
  int64_t number = 0;
  int64_t runs = 0;
  double seconds = 0;       // of all threads together
};

/// Loops that ran since the last `reset_profile`, by number. Not while kernels run.
[[nodiscard]] auto profile() -> std::vector<LoopTime>;
void reset_profile();

}  // namespace loopsmith::runtime

// What kernels call. Numbers beyond the first 4096 are not counted.
extern "C" {
void loopsmith_profile_start(int64_t number);
void loopsmith_profile_end(int64_t number);
}
