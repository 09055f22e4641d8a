// Times batches of calls between two events: see bench.h.
#include "runtime/devices/bench.h"

#include <algorithm>
#include <cmath>
#include <optional>

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
    LOOPSMITH_TRY(arguments, make_arguments(interface, sizes, seed + 1000 * sets.size(), Fill::Normal, options.contents, options.scalars));
    for (const Tensor& t : arguments.tensors) { held += t.bytes(); }
    LOOPSMITH_TRY(call, subject.program->prepare(subject.function, arguments.values));
    sets.push_back(std::move(call));
  } while ((held < wanted || (wanted > 0 && sets.size() < 2)) && sets.size() < most_sets);
  return sets;
}

// Seconds: a call this long is hardly longer for the loading of its kernel; a call this short is timed several times.
constexpr double long_call = 10e-3, short_call = 0.5e-3;

/// The first call also loads the kernels; the second one determines the size of a batch. A measurement: the program is slower than it may be.
auto warm_up(Subject& s, const BenchOptions& options) -> Result<std::optional<Measurement>> {
  LOOPSMITH_TRY(first, s.time(std::max(1, options.warm_up)));
  const bool is_far_too_slow = options.give_up_above > 0 && first > std::max(4 * options.give_up_above, long_call);
  double seconds = first;
  if (!is_far_too_slow) {
    LOOPSMITH_TRY(second, s.time(1));
    seconds = second;
    // The launch is a part of a single short call.
    if (options.give_up_above > 0 && seconds > options.give_up_above && seconds < short_call) {
      LOOPSMITH_TRY(mean, s.time(static_cast<int64_t>(std::ceil(short_call / std::max(seconds, 1e-7)))));
      seconds = mean;
    }
  }
  if (options.give_up_above > 0 && seconds > options.give_up_above) {
    Measurement out = measurement_of({seconds}, s.calls);
    out.gave_up = true;
    return std::optional(std::move(out));
  }
  while (s.spent < options.warm_up_seconds && seconds > 0) { LOOPSMITH_CHECK(s.time(1)); }
  s.batch = options.cache == CacheState::Cold ? 1 : std::clamp<int64_t>(static_cast<int64_t>(std::ceil(options.block_seconds / std::max(seconds, 1e-7))), 1, 10'000);
  s.spent = 0;
  return std::optional<Measurement>();
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
  BenchOptions patient = options;
  patient.give_up_above = 0;
  for (Subject& s : all) { LOOPSMITH_CHECK(warm_up(s, patient)); }
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

auto bench_call(Device& device, DeviceCall call, const BenchOptions& options) -> Result<Measurement> {
  Subject s{.device = &device, .sets = {}};
  s.sets.push_back(std::move(call));
  LOOPSMITH_TRY(too_slow, warm_up(s, options));
  if (too_slow) { return std::move(*too_slow); }
  while (static_cast<int>(s.values.size()) < options.blocks && (s.values.empty() || s.spent <= options.time_limit)) {
    LOOPSMITH_TRY(seconds, s.time(s.batch));
    s.values.push_back(seconds);
  }
  return measurement_of(std::move(s.values), s.calls);
}

}  // namespace loopsmith::runtime
