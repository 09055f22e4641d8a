// Peaks of this machine: multiply-adds per second and copy bandwidth by footprint, on one thread and on all threads.
// Measured in a second or two, with kernels compiled for it, then kept on disk (target/peaks.h) with the load of the machine at that time. Peaks of a
// busy machine are measured again on the next occasion, and the best of all measurements counts.
#pragma once

#include "support/diagnostic.h"
#include "target/peaks.h"

namespace loopsmith::runtime {

using target::CopyRate;
using target::Peaks;

/// The peaks of this machine: from disk if they were measured on a quiet machine, or if the machine is busy now as well.
[[nodiscard]] auto peaks() -> Result<Peaks>;
/// Measures the peaks now, merges them with the former ones (the better value of each), and writes them to disk. `forgets`: ignores the former ones.
[[nodiscard]] auto measure_peaks(bool forgets = false) -> Result<Peaks>;

/// Seconds of all processors since the start of the machine: used ones, and all. Zero if the system does not report them.
struct ProcessorTime { double used = 0, all = 0; };
[[nodiscard]] auto processor_time() -> ProcessorTime;

}  // namespace loopsmith::runtime
