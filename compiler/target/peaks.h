// Measured peaks of this machine: multiply-adds per second and copy bandwidth by footprint, on one thread and on all threads; and the
// file that keeps them under the machine's identity. Measuring is in runtime/peaks.h.
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
  double fma_f32_one = 0;  // GFLOP/s; a multiply-add counts as two
  double fma_f32_all = 0;
  int threads = 1;         // the number of threads for "all"
  std::vector<CopyRate> copy;   // by growing footprint
  int64_t measured_at = 0; // seconds since 1970; 0: unknown
  double others = 0;       // the share of the processors that other programs used during the measurement, 0 to 1

  /// GB/s for a footprint: the rate of the smallest measured footprint that is at least as large, else of the largest one.
  [[nodiscard]] auto copy_rate(uint64_t footprint, bool all_threads) const -> double;
};

/// If other programs use more than this share of the processors, measured peaks are too low to be kept for good.
constexpr double busy_share = 0.15;
/// The better of both for each rate: another program can only lower a rate. Date and load are those of the measurement on the quieter machine.
[[nodiscard]] auto best_of(const Peaks& a, const Peaks& b) -> Peaks;

/// The peaks of this machine, from disk; none if they were not measured yet.
[[nodiscard]] auto cached_peaks() -> std::optional<Peaks>;
/// Writes the peaks to disk, completely or not at all. Ignores errors: the peaks are then measured again.
void keep_peaks(const Peaks& peaks);
/// $XDG_CACHE_HOME/loopsmith/peaks-....txt; empty if no such folder exists.
[[nodiscard]] auto peaks_file() -> std::string;

}  // namespace loopsmith::target
