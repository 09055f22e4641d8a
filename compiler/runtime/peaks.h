// What this machine reaches: multiply-adds per second and copy bandwidth by footprint, on one thread and on all.
// Measured once with kernels of our own making (a second or two), then kept on disk under the machine's identity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "target/target.h"

namespace loopsmith::runtime {

struct CopyRate {
  uint64_t footprint;      // bytes read plus bytes written
  double one;              // GB/s, both directions counted, on one thread
  double all;              // on all
};

struct Peaks {
  double fma_f32_one = 0;  // GFLOP/s, a multiply-add counted as two
  double fma_f32_all = 0;
  int threads = 1;         // what "all" means
  std::vector<CopyRate> copy;   // by growing footprint

  /// GB/s for a footprint: that of the nearest one measured that is not smaller, or the largest.
  [[nodiscard]] auto copy_rate(uint64_t footprint, bool all_threads) const -> double;
};

/// Of this machine: from disk where it was measured before.
[[nodiscard]] auto peaks() -> Result<Peaks>;
/// From disk only.
[[nodiscard]] auto cached_peaks() -> std::optional<Peaks>;
/// Now, and to disk.
[[nodiscard]] auto measure_peaks() -> Result<Peaks>;

/// $XDG_CACHE_HOME/loopsmith/peaks-....txt
[[nodiscard]] auto peaks_file() -> std::string;

}  // namespace loopsmith::runtime
