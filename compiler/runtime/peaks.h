// Peaks of this machine: multiply-adds per second and copy bandwidth by footprint, on one thread and on all.
// Measured in a second or two, with kernels that are compiled for it, then kept on disk (target/peaks.h) with the load of the machine meanwhile. Peaks of a
// busy machine are measured again on the next occasion, and the best of all measurements counts.
#pragma once

#include "support/diagnostic.h"
#include "target/peaks.h"

namespace loopsmith::runtime {

using target::CopyRate;
using target::Peaks;

/// The peaks of this machine: from disk if they were measured before on a quiet machine, or if it is busy now as well.
[[nodiscard]] auto peaks() -> Result<Peaks>;
/// Measures the peaks now, takes the better of these and the former ones, and writes them to disk. `forgets`: without the former ones.
[[nodiscard]] auto measure_peaks(bool forgets = false) -> Result<Peaks>;

/// Seconds of all processors since the start of the machine: those that any program used, and all. Zero where the system does not say.
struct ProcessorTime { double used = 0, all = 0; };
[[nodiscard]] auto processor_time() -> ProcessorTime;

}  // namespace loopsmith::runtime
