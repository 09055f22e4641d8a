// Timing compiled functions: warm-up, blocks, robust medians, early ends; caches hot, rotating or cold.
//
// A block is a series of calls that takes at least half a millisecond; its value is the fastest call (calls that
// are too fast for the clock are timed several at once). The time of a function is the median of its blocks'
// values, without blocks that other processes disturbed (above the median by more than three times the median
// deviation). Samples during which the process was stopped are timed again.
// Code that never ends is not stopped here: measure foreign code in a separate process.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/counters.h"
#include "runtime/jit.h"

namespace loopsmith::runtime {

enum class CacheState : uint8_t {
  Hot,      // the same arguments again and again
  Rotate,   // argument sets in turn, together larger than the second-level cache
  Cold,     // arguments are evicted from all caches before each call
};

struct BenchOptions {
  CacheState cache = CacheState::Hot;
  int warm_up = 1;                   // calls before any timing; with rotating arguments, each set once
  double warm_up_seconds = 0;        // at least: branch predictors learn for thousands of calls
  int blocks = 5;
  double block_seconds = 0.5e-3;     // at least; one call is enough if it takes longer
  double time_limit = 5;             // seconds for all blocks; at least one block is measured
  /// Stops if the first timed call takes longer than this many seconds: then `gave_up` is set and `seconds` is the
  /// time of that call; of short calls the fastest of three counts. 0: never.
  double give_up_above = 0;
  std::vector<const Tensor*> contents = {};   // for each parameter, the contents instead of random ones; null or empty: random
  std::vector<Value> scalars = {};   // for each parameter, the value of a scalar; empty: those of make_arguments
  bool pin = true;                   // keep the calling thread on one processor, away from the pool's threads
};

struct Measurement {
  double seconds = 0;                // of one call
  double minimum = 0;                // the fastest call
  double deviation = 0;              // median distance of blocks from `seconds`, as a fraction of it
  int blocks = 0;                    // the number of blocks in the median
  int64_t calls = 0;
  bool gave_up = false;
  int threads = 1;                   // the threads of its parallel loops; 1 for functions without such loops
  std::vector<double> values = {};   // of all blocks, in the order they were taken
  [[nodiscard]] auto gflops(double flop) const -> double { return flop / seconds * 1e-9; }
  [[nodiscard]] auto gbytes(double bytes) const -> double { return bytes / seconds * 1e-9; }
};

/// The measurement that follows from the times of blocks, in the order in which they were measured.
[[nodiscard]] auto measurement_of(std::vector<double> blocks, int64_t calls) -> Measurement;

/// Slots as `bind_arguments` returns them; several sets only for CacheState::Rotate.
using ArgumentSets = std::span<const std::vector<codegen::Argument>>;

[[nodiscard]] auto bench(const JitFunction& function, ArgumentSets sets, const BenchOptions& options = {}, std::span<const Tensor* const> flushed = {})
    -> Result<Measurement>;

/// Makes arguments (like make_arguments), in as many sets as the cache state requires, and measures.
[[nodiscard]] auto bench(const JitFunction& function, std::span<const int64_t> sizes, const BenchOptions& options = {}, uint64_t seed = 1)
    -> Result<Measurement>;

/// Measures several functions with the same arguments, one block of each in turn, so that a drift of the machine's speed affects all of them.
[[nodiscard]] auto bench_interleaved(std::span<const JitFunction* const> functions, std::span<const int64_t> sizes,
                                     const BenchOptions& options = {}, uint64_t seed = 1) -> Result<std::vector<Measurement>>;

/// A comparison of two functions that were measured in turn.
struct Speeds {
  enum class Verdict : uint8_t { Same, Faster, Slower };   // of the second function. Same: the difference is not significant
  Verdict verdict = Verdict::Same;
  double ratio = 1;                  // the second's time divided by the first's, the median over pairs of blocks
  double chance = 1;                 // the probability that two functions whose times differ by only `least_difference` appear to differ at least as much
};
/// Tests if two functions differ by more than `least_difference`, with Wilcoxon's exact signed-rank test over pairs of blocks. Differences up to
/// that size come from the placement of code and data in memory; functions with several threads are allowed an additional `thread_jitter`. The verdict
/// is Faster or Slower if chance alone explains at most one or two in a hundred such results. Fewer than seven pairs are always Same.
[[nodiscard]] auto compare(const Measurement& first, const Measurement& second) -> Speeds;
constexpr double least_difference = 0.04;
constexpr double thread_jitter = 0.5e-6;   // seconds per call
constexpr double most_chance = 0.02;

/// Counts events in a call: the mean over some calls with the requested cache state. Must not run during timing, since counting takes time.
[[nodiscard]] auto count_events(const JitFunction& function, std::span<const int64_t> sizes, const BenchOptions& options = {}, uint64_t seed = 1)
    -> Result<EventCounts>;

/// Measures any callable in the same way; for baselines in tests/bench.
[[nodiscard]] auto bench_callable(const std::function<void()>& run, const BenchOptions& options = {}) -> Measurement;

}  // namespace loopsmith::runtime
