// Times blocks of calls and computes the median of their values: see bench.h.
#include "runtime/bench.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <functional>

#include "runtime/threads.h"
#include "support/codes.h"
#include "target/hardware.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace loopsmith::runtime {
namespace {

/// Seconds of a clock that network time does not adjust.
auto now() -> double {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// The number of times that the process continued after a stop (by a terminal, or by the language server while it answers a key).
volatile std::sig_atomic_t continued = 0;

void watch_stops() {
  [[maybe_unused]] static const bool watches = [] {
    struct sigaction before{};
    if (::sigaction(SIGCONT, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) { return false; }
    struct sigaction counts{};
    counts.sa_handler = [](int) { continued = continued + 1; };
    counts.sa_flags = SA_RESTART;
    return ::sigaction(SIGCONT, &counts, nullptr) == 0;
  }();
}

// Samples during which the process was stopped are repeated, at most this many times.
constexpr int most_repeats = 100;

// Another program may interrupt a call for some milliseconds. So a shorter call that is too slow is timed again, up to this number of times in all.
constexpr double short_call = 10e-3;
constexpr int most_looks = 3;

// The shortest sample: reading the clock costs about 30 ns.
constexpr double min_sample_seconds = 20e-6;

void flush_range(const void* data, uint64_t bytes) {
#if defined(__x86_64__)
  const char* at = static_cast<const char*>(data);
  for (uint64_t i = 0; i < bytes; i += 64) { _mm_clflush(at + i); }
  _mm_mfence();
#else
  // Reading 64 MiB of other memory evicts the arguments from the caches.
  static std::vector<char> other(64U << 20U, 1);
  volatile char sink = 0;
  for (size_t i = 0; i < other.size(); i += 64) { sink = sink + other[i]; }
  (void)data;
  (void)bytes;
#endif
}

/// A function under measurement.
class Subject {
 public:
  Subject(std::function<Status(int64_t)> call, std::function<void()> before_each) : call_(std::move(call)), before_each_(std::move(before_each)) {}

  auto warm_up(const BenchOptions& options, int sets) -> Status {
    int calls = std::max(options.warm_up, 1);
    if (options.cache == CacheState::Rotate) { calls = std::max(calls, std::min(sets, 8)); }
    for (int i = 0; i < calls - 1; ++i) { LOOPSMITH_CHECK(call_(next_++)); }
    for (double start = now(); now() - start < options.warm_up_seconds;) { LOOPSMITH_CHECK(call_(next_++)); }
    // The last warm-up call determines the number of calls in a sample, and if measuring continues at all.
    if (before_each_) { before_each_(); }
    LOOPSMITH_CHECK(call_(next_++));
    LOOPSMITH_TRY(first, one_call());
    first_ = first;
    const auto is_too_slow = [&] { return options.give_up_above > 0 && first_ > options.give_up_above; };
    for (int looks = 1; looks < most_looks && is_too_slow() && first_ < short_call; ++looks) {
      LOOPSMITH_TRY(again, one_call());
      first_ = std::min(first_, again);
    }
    if (is_too_slow()) {
      out.gave_up = true;
      out.seconds = out.minimum = first_;
      out.calls = next_;
      return ok();
    }
    if (before_each_ || first_ >= min_sample_seconds) { return ok(); }
    per_sample_ = static_cast<int64_t>(std::ceil(min_sample_seconds / std::max(first_, 20e-9)));
    return ok();
  }

  auto block(const BenchOptions& options) -> Status {
    double best = 0;
    double used = 0;
    bool first = true;
    int repeats = 0;
    while (first || (used < options.block_seconds)) {
      if (before_each_) { before_each_(); }
      int stops = continued;
      double start = now();
      for (int64_t i = 0; i < per_sample_; ++i) { LOOPSMITH_CHECK(call_(next_++)); }
      double spent = now() - start;
      if (continued != stops && ++repeats <= most_repeats) { continue; }
      double each = spent / static_cast<double>(per_sample_);
      if (!before_each_ && spent < min_sample_seconds / 2) { per_sample_ *= 2; }
      best = first ? each : std::min(best, each);
      used += spent;
      first = false;
    }
    values_.push_back(best);
    spent_ += used;
    return ok();
  }

  [[nodiscard]] auto wants_more(const BenchOptions& options) const -> bool {
    if (out.gave_up) { return false; }
    return values_.empty() || (static_cast<int>(values_.size()) < options.blocks && spent_ < options.time_limit);
  }

  auto finish() -> Measurement {
    if (out.gave_up || values_.empty()) { return out; }
    return measurement_of(std::move(values_), next_);
  }

  Measurement out;

 private:
  /// The seconds of one call. A call during which the process was stopped is repeated.
  auto one_call() -> Result<double> {
    for (int repeats = 0;; ++repeats) {
      if (before_each_) { before_each_(); }
      int stops = continued;
      double start = now();
      LOOPSMITH_CHECK(call_(next_++));
      double seconds = now() - start;
      if (continued == stops || repeats >= most_repeats) { return seconds; }
    }
  }

  std::function<Status(int64_t)> call_;
  std::function<void()> before_each_;
  std::vector<double> values_;
  int64_t next_ = 0;
  int64_t per_sample_ = 1;
  double first_ = 0;
  double spent_ = 0;
};

/// Restores the processors of the calling thread.
class PinScope {
 public:
  explicit PinScope(bool wanted) {
    CPU_ZERO(&before_);
    active_ = wanted && sched_getaffinity(0, sizeof(before_), &before_) == 0 && pin_calling_thread();
  }
  ~PinScope() {
    if (active_) { sched_setaffinity(0, sizeof(before_), &before_); }
  }
  PinScope(const PinScope&) = delete;
  auto operator=(const PinScope&) -> PinScope& = delete;

 private:
  cpu_set_t before_;
  bool active_ = false;
};

auto measure(std::vector<Subject>& subjects, const BenchOptions& options, int sets) -> Result<std::vector<Measurement>> {
  PinScope pinned(options.pin);
  watch_stops();
  for (Subject& s : subjects) { LOOPSMITH_CHECK(s.warm_up(options, sets)); }
  bool more = true;
  // Alternates the order: the first function of a round runs in another state of the machine than the last one.
  for (bool forward = true; more; forward = !forward) {
    more = false;
    for (size_t i = 0; i < subjects.size(); ++i) {
      Subject& s = subjects[forward ? i : subjects.size() - 1 - i];
      if (!s.wants_more(options)) { continue; }
      LOOPSMITH_CHECK(s.block(options));
      more = true;
    }
  }
  std::vector<Measurement> out;
  for (Subject& s : subjects) { out.push_back(s.finish()); }
  return out;
}

auto subject_of(const JitFunction& function, ArgumentSets sets, std::function<void()> before_each) -> Subject {
  size_t count = sets.size();
  return {[&function, sets, count](int64_t i) -> Status {
            const auto& slots = sets[count == 1 ? 0 : static_cast<size_t>(i) % count];
            if (function.entry(slots.data()) == 0) { return ok(); }
            auto failure = error(Code::KernelFailed).arg("function", function.interface.name).arg("reason", last_error());
            clear_error();
            return failure;
          },
          std::move(before_each)};
}

/// Argument sets that own their tensors.
struct OwnedSets {
  std::vector<Arguments> arguments;
  std::vector<std::vector<codegen::Argument>> slots;
};

auto make_sets(const codegen::Interface& interface, std::span<const int64_t> sizes, const BenchOptions& options, uint64_t seed) -> Result<OwnedSets> {
  OwnedSets out;
  uint64_t wanted = 0;
  if (options.cache == CacheState::Rotate) {
    target::Hardware has = target::hardware(target::host());
    wanted = 2 * std::max<uint64_t>(has.l2.bytes, 1U << 20U) * static_cast<uint64_t>(std::max(has.cores, 1));
  }
  uint64_t held = 0;
  constexpr size_t max_sets = 256;
  do {
    LOOPSMITH_TRY(arguments, make_arguments(interface, sizes, seed + 1000 * out.arguments.size(), Fill::Normal, options.contents, options.scalars));
    for (const Tensor& t : arguments.tensors) { held += t.bytes(); }
    out.arguments.push_back(std::move(arguments));
  } while (held < wanted && out.arguments.size() < max_sets);
  if (options.cache == CacheState::Rotate && out.arguments.size() == 1) {
    LOOPSMITH_TRY(arguments, make_arguments(interface, sizes, seed + 1000, Fill::Normal, options.contents, options.scalars));
    out.arguments.push_back(std::move(arguments));
  }
  for (const Arguments& a : out.arguments) {
    LOOPSMITH_TRY(slots, bind_arguments(interface, a.values));
    out.slots.push_back(std::move(slots));
  }
  return out;
}

auto flusher(const OwnedSets& sets) -> std::function<void()> {
  return [&sets] {
    for (const Arguments& a : sets.arguments) {
      for (const Tensor& t : a.tensors) { flush_range(t.data(), t.bytes()); }
    }
  };
}

}  // namespace

auto bench(const JitFunction& function, ArgumentSets sets, const BenchOptions& options, std::span<const Tensor* const> flushed) -> Result<Measurement> {
  ThreadsScope threads(function.threads);
  std::function<void()> before;
  if (options.cache == CacheState::Cold) {
    before = [flushed] {
      for (const Tensor* t : flushed) { flush_range(t->data(), t->bytes()); }
    };
  }
  std::vector<Subject> subjects;
  subjects.push_back(subject_of(function, sets, std::move(before)));
  LOOPSMITH_TRY(out, measure(subjects, options, static_cast<int>(sets.size())));
  return out.front();
}

auto bench_interleaved(std::span<const JitFunction* const> functions, std::span<const int64_t> sizes, const BenchOptions& options, uint64_t seed)
    -> Result<std::vector<Measurement>> {
  if (functions.empty()) { return std::vector<Measurement>{}; }
  LOOPSMITH_TRY(sets, make_sets(functions.front()->interface, sizes, options, seed));
  int most = 1;
  for (const JitFunction* f : functions) { most = std::max(most, f->threads); }
  ThreadsScope threads(most);
  std::vector<Subject> subjects;
  for (const JitFunction* f : functions) {
    subjects.push_back(subject_of(*f, sets.slots, options.cache == CacheState::Cold ? flusher(sets) : std::function<void()>()));
  }
  LOOPSMITH_TRY(out, measure(subjects, options, static_cast<int>(sets.slots.size())));
  for (size_t i = 0; i < out.size(); ++i) { out[i].threads = functions[i]->interface.may_fork ? functions[i]->threads : 1; }
  return out;
}

auto measurement_of(std::vector<double> blocks, int64_t calls) -> Measurement {
  Measurement out;
  if (blocks.empty()) { return out; }
  auto median = [](std::vector<double> v) {
    std::sort(v.begin(), v.end());
    size_t n = v.size();
    return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
  };
  auto deviation = [&](const std::vector<double>& v, double middle) {
    std::vector<double> d;
    for (double x : v) { d.push_back(std::abs(x - middle)); }
    return median(d);
  };
  double middle = median(blocks);
  double spread = deviation(blocks, middle);
  std::vector<double> kept;
  for (double v : blocks) {
    if (v <= middle + 3 * spread) { kept.push_back(v); }
  }
  out.seconds = median(kept);
  out.minimum = *std::min_element(blocks.begin(), blocks.end());
  out.deviation = out.seconds > 0 ? deviation(kept, out.seconds) / out.seconds : 0;
  out.blocks = static_cast<int>(kept.size());
  out.calls = calls;
  out.values = std::move(blocks);
  return out;
}

auto compare(const Measurement& first, const Measurement& second) -> Speeds {
  Speeds out;
  size_t count = std::min(first.values.size(), second.values.size());
  std::vector<double> ratios;
  for (size_t i = 0; i < count; ++i) {
    if (first.values[i] > 0 && second.values[i] > 0) { ratios.push_back(std::log(second.values[i] / first.values[i])); }
  }
  if (ratios.empty()) { return out; }
  std::vector<double> sorted = ratios;
  std::sort(sorted.begin(), sorted.end());
  size_t middle = sorted.size() / 2;
  out.ratio = std::exp(sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2);
  // Tests if the difference exceeds the effect of the placement of code and data in memory.
  const double jitter = std::max(first.threads, second.threads) > 1 ? thread_jitter / std::min(first.seconds, second.seconds) : 0;
  const double margin = std::log1p(least_difference + jitter);
  for (double& ratio : ratios) { ratio += out.ratio > 1 ? -margin : margin; }
  // Signed ranks by distance from 0; ties have the mean of their ranks, counted in halves.
  std::erase(ratios, 0.0);
  constexpr size_t fewest = 7;
  constexpr size_t most = 200;
  if (ratios.size() < fewest) { return out; }
  if (ratios.size() > most) { ratios.resize(most); }
  std::sort(ratios.begin(), ratios.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  std::vector<size_t> ranks(ratios.size());
  for (size_t i = 0; i < ratios.size();) {
    size_t end = i;
    while (end < ratios.size() && std::abs(ratios[end]) == std::abs(ratios[i])) { ++end; }
    for (size_t k = i; k < end; ++k) { ranks[k] = i + end + 1; }
    i = end;
  }
  size_t sum = 0;
  size_t positive = 0;
  for (size_t i = 0; i < ratios.size(); ++i) {
    sum += ranks[i];
    positive += ratios[i] > 0 ? ranks[i] : 0;
  }
  // The number of sign combinations that give each sum.
  std::vector<double> ways(sum + 1, 0);
  ways[0] = 1;
  size_t reached = 0;
  for (size_t rank : ranks) {
    for (size_t at = reached + 1; at-- > 0;) {
      if (ways[at] == 0) { continue; }
      ways[at + rank] += ways[at] / 2;
      ways[at] /= 2;
    }
    reached += rank;
  }
  size_t least = std::min(positive, sum - positive);
  double tail = 0;
  for (size_t at = 0; at <= least; ++at) { tail += ways[at]; }
  out.chance = std::min(1.0, 2 * tail);
  bool is_beyond = out.ratio > 1 ? positive * 2 > sum : positive * 2 < sum;
  if (out.chance > most_chance || !is_beyond) { return out; }
  out.verdict = out.ratio > 1 ? Speeds::Verdict::Slower : Speeds::Verdict::Faster;
  return out;
}

auto bench(const JitFunction& function, std::span<const int64_t> sizes, const BenchOptions& options, uint64_t seed) -> Result<Measurement> {
  const JitFunction* one = &function;
  LOOPSMITH_TRY(out, bench_interleaved({&one, 1}, sizes, options, seed));
  return out.front();
}

auto count_events(const JitFunction& function, std::span<const int64_t> sizes, const BenchOptions& options, uint64_t seed) -> Result<EventCounts> {
  LOOPSMITH_TRY(sets, make_sets(function.interface, sizes, options, seed));
  ThreadsScope threads(function.threads);
  PinScope pinned(options.pin);
  auto call = [&](int64_t i) -> Status { return invoke(function, sets.slots[static_cast<size_t>(i) % sets.slots.size()]); };
  // The first calls start the pool's threads: counters attach only to running threads.
  const auto warm = static_cast<int64_t>(sets.slots.size() + 1);
  for (int64_t i = 0; i < warm; ++i) { LOOPSMITH_CHECK(call(i)); }
  Counters counters;
  constexpr int64_t most_calls = 1000;
  constexpr double enough_seconds = 0.05;
  int64_t calls = 0;
  double spent = 0;
  auto flush = flusher(sets);
  while (calls == 0 || (calls < most_calls && spent < enough_seconds)) {
    if (options.cache == CacheState::Cold) { flush(); }
    double start = now();
    counters.start();
    Status status = call(calls++);
    counters.stop();
    spent += now() - start;
    LOOPSMITH_CHECK(status);
  }
  EventCounts out = counters.read();
  for (Count& c : out.counts) { c.value /= static_cast<double>(calls); }
  return out;
}

auto bench_callable(const std::function<void()>& run, const BenchOptions& options) -> Measurement {
  std::vector<Subject> subjects;
  subjects.push_back(Subject([&run](int64_t) -> Status { run(); return ok(); }, {}));
  auto out = measure(subjects, options, 1);
  return out.ok() ? out->front() : Measurement{};
}

}  // namespace loopsmith::runtime
