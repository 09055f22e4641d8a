// Peaks of this machine: multiply-adds per second and copy bandwidth by footprint, on one thread and on all.
// Measured once, in a second or two, with kernels that are compiled for it, then kept on disk (target/peaks.h).
#pragma once

#include "support/diagnostic.h"
#include "target/peaks.h"

namespace loopsmith::runtime {

using target::CopyRate;
using target::Peaks;

/// The peaks of this machine: from disk if they were measured before.
[[nodiscard]] auto peaks() -> Result<Peaks>;
/// Measures the peaks now and writes them to disk.
[[nodiscard]] auto measure_peaks() -> Result<Peaks>;

}  // namespace loopsmith::runtime
