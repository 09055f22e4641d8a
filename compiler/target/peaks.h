// What this machine was measured to reach: multiply-adds per second and copy bandwidth by footprint, on one thread and on all, and the
// file that remembers it under the machine's identity. Measuring is in runtime/peaks.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopsmith::target {

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

/// Of this machine, from disk; none: they were not measured yet.
[[nodiscard]] auto cached_peaks() -> std::optional<Peaks>;
/// To disk, whole or not at all. Not being able to is no failure.
void keep_peaks(const Peaks& peaks);
/// $XDG_CACHE_HOME/loopsmith/peaks-....txt; empty: there is no such folder.
[[nodiscard]] auto peaks_file() -> std::string;

}  // namespace loopsmith::target
