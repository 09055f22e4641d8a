// What this machine reaches: multiply-adds per second and copy bandwidth by footprint, on one thread and on all.
// Measured once with kernels of our own making (a second or two), then kept on disk (target/peaks.h).
#pragma once

#include "support/diagnostic.h"
#include "target/peaks.h"

namespace loopsmith::runtime {

using target::CopyRate;
using target::Peaks;

/// Of this machine: from disk where it was measured before.
[[nodiscard]] auto peaks() -> Result<Peaks>;
/// Now, and to disk.
[[nodiscard]] auto measure_peaks() -> Result<Peaks>;

}  // namespace loopsmith::runtime
