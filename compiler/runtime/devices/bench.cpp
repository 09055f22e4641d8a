// Times batches of calls between two events: see bench.h.
#include "runtime/devices/bench.h"

#include <algorithm>
#include <cmath>

namespace loopsmith::runtime {
namespace {

/// A program with its sets of arguments on the device.
struct Subject {
  Device* device = nullptr;
  std::vector<DeviceCall> sets;
  std::vector<double> values = {};
  int64_t calls = 0;
  int64_t batch = 1;           // calls of a batch
  double spent = 0;

  /// Seconds of one call.
  auto time(int64_t count) -> Result<double> {
    LOOPSMITH_CHECK(device->start_clock());
    for (int64_t i = 0; i < count; ++i) { LOOPSMITH_CHECK(sets[static_cast<size_t>(calls++) % sets.size()].run()); }
    LOOPSMITH_TRY(seconds, device->stop_clock());
    spent += seconds;
    return seconds / static_cast<double>(count);
  }
};

/// Memory that replaces everything in the device's cache.
class CacheFiller {
 public:
  explicit CacheFiller(Device& device) : device_(device) {}
  CacheFiller(const CacheFiller&) = delete;
  auto operator=(const CacheFiller&) -> CacheFiller& = delete;
  ~CacheFiller() {
    if (memory_.handle != 0) { device_.release(memory_); }
  }
  auto fill() -> Status {
    if (memory_.handle == 0) {
      bytes_.resize(std::clamp<uint64_t>(2 * device_.facts().cache_bytes, 16U << 20U, 256U << 20U));
      LOOPSMITH_TRY(made, device_.allocate(bytes_.size()));
      memory_ = made;
    }
    return device_.write(memory_, bytes_.data(), bytes_.size());
  }

 private:
  Device& device_;
  DeviceMemory memory_;
  std::vector<char> bytes_;
};

auto make_sets(const DeviceSubject& subject, std::span<const int64_t> sizes, const BenchOptions& options, uint64_t seed) -> Result<std::vector<DeviceCall>> {
  LOOPSMITH_TRY(interface, subject.program->interface(subject.function));
  const uint64_t cache = subject.program->device().facts().cache_bytes;
  const uint64_t wanted = options.cache == CacheState::Rotate ? 2 * std::max<uint64_t>(cache, 1U << 20U) : 0;
  constexpr size_t most_sets = 64;
  std::vector<DeviceCall> sets;
  uint64_t held = 0;
  do {
    // The host's tensors are copied to the device, and not needed after that.
    LOOPSMITH_TRY(arguments, make_arguments(interface, sizes, seed + 1000 * sets.size(), Fill::Normal, options.contents));
    for (const Tensor& t : arguments.tensors) { held += t.bytes(); }
    LOOPSMITH_TRY(call, subject.program->prepare(subject.function, arguments.values));
    sets.push_back(std::move(call));
  } while ((held < wanted || (wanted > 0 && sets.size() < 2)) && sets.size() < most_sets);
  return sets;
}

}  // namespace

auto bench_on_device(std::span<const DeviceSubject> subjects, std::span<const int64_t> sizes, const BenchOptions& options, uint64_t seed) -> Result<std::vector<Measurement>> {
  std::vector<Measurement> out;
  if (subjects.empty()) { return out; }
  Device& device = subjects.front().program->device();
  CacheFiller filler(device);
  const bool is_cold = options.cache == CacheState::Cold;
  std::vector<Subject> all;
  for (const DeviceSubject& subject : subjects) {
    LOOPSMITH_TRY(sets, make_sets(subject, sizes, options, seed));
    all.push_back({.device = &device, .sets = std::move(sets)});
  }
  for (Subject& s : all) {
    // The first call also loads the kernels; the second one determines the size of a batch.
    LOOPSMITH_CHECK(s.time(std::max(1, options.warm_up)));
    LOOPSMITH_TRY(seconds, s.time(1));
    while (s.spent < options.warm_up_seconds && seconds > 0) { LOOPSMITH_CHECK(s.time(1)); }
    s.batch = is_cold ? 1 : std::clamp<int64_t>(static_cast<int64_t>(std::ceil(options.block_seconds / std::max(seconds, 1e-7))), 1, 10'000);
    s.spent = 0;
  }
  for (bool more = true; more;) {
    more = false;
    for (Subject& s : all) {
      if (static_cast<int>(s.values.size()) >= options.blocks || (!s.values.empty() && s.spent > options.time_limit)) { continue; }
      if (is_cold) { LOOPSMITH_CHECK(filler.fill()); }
      LOOPSMITH_TRY(seconds, s.time(s.batch));
      s.values.push_back(seconds);
      more = true;
    }
  }
  for (Subject& s : all) { out.push_back(measurement_of(std::move(s.values), s.calls)); }
  return out;
}

}  // namespace loopsmith::runtime
