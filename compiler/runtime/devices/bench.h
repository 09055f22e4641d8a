// Times kernels on a device by its own clock: events around a batch of calls. A batch takes at least half a millisecond; its value is the mean of its
// calls, and the time of a program is the median of its batches (runtime/bench.h). The host's work between kernels counts if the device waits for it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/bench.h"
#include "runtime/devices/program.h"

namespace loopsmith::runtime {

struct DeviceSubject {
  const DeviceProgram* program = nullptr;   // all programs must be on the same device
  std::string function;                     // its symbol
};

/// Measures several programs with the same arguments, one batch of each in turn. Hot: the same arguments every time; Rotate: sets of arguments in turn,
/// together larger than the device's cache; Cold: the cache is overwritten before each call, so that each call is a batch.
[[nodiscard]] auto bench_on_device(std::span<const DeviceSubject> subjects, std::span<const int64_t> sizes, const BenchOptions& options = {}, uint64_t seed = 1)
    -> Result<std::vector<Measurement>>;

/// Measures one prepared call, again and again with the same arguments. Stops early as `BenchOptions::give_up_above` describes.
[[nodiscard]] auto bench_call(Device& device, DeviceCall call, const BenchOptions& options = {}) -> Result<Measurement>;

}  // namespace loopsmith::runtime
