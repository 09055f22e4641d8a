// Timing compiled functions: warm-up, blocks, robust medians, early ends; caches hot, rotating or cold.
//
// A block is some calls, at least half a millisecond of them; its value is the quickest (calls that are too quick
// for the clock are timed several at once). The time of a function is the median of its blocks' values, without
// blocks that others disturbed (beyond the median by more than three times the median deviation).
// What the process was stopped in is timed again.
// What can never end is not ended here: measure foreign code in a process of its own.
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
  Rotate,   // argument sets in turn, more of them than the second-level cache holds
  Cold,     // arguments are driven out of all caches before each call
};

struct BenchOptions {
  CacheState cache = CacheState::Hot;
  int warm_up = 1;                   // calls before any timing, each argument set once where they rotate
  double warm_up_seconds = 0;        // at least: what predicts branches learns for thousands of calls
  int blocks = 5;
  double block_seconds = 0.5e-3;     // at least; one call is enough where it takes longer
  double time_limit = 5;             // seconds for all blocks; at least one block is taken
  /// Stop when the first timed call takes longer than this many seconds: then `gave_up` is set and `seconds` is
  /// what that call took. 0: never.
  double give_up_above = 0;
  bool pin = true;                   // keep the calling thread on one processor, where the pool's threads are not
};

struct Measurement {
  double seconds = 0;                // of one call
  double minimum = 0;                // the quickest seen
  double deviation = 0;              // median distance of blocks from `seconds`, as a fraction of it
  int blocks = 0;                    // that counted
  int64_t calls = 0;
  bool gave_up = false;
  int threads = 1;                   // that its parallel loops use; 1 where there are none
  std::vector<double> values = {};   // of all blocks, in the order they were taken
  [[nodiscard]] auto gflops(double flop) const -> double { return flop / seconds * 1e-9; }
  [[nodiscard]] auto gbytes(double bytes) const -> double { return bytes / seconds * 1e-9; }
};

/// Slots as `bind_arguments` gives them; several sets only where they rotate.
using ArgumentSets = std::span<const std::vector<codegen::Argument>>;

[[nodiscard]] auto bench(const JitFunction& function, ArgumentSets sets, const BenchOptions& options = {}, std::span<const Tensor* const> flushed = {})
    -> Result<Measurement>;

/// Makes arguments (as make_arguments does), in as many sets as the cache state asks for, and measures.
[[nodiscard]] auto bench(const JitFunction& function, std::span<const int64_t> sizes, const BenchOptions& options = {}, uint64_t seed = 1)
    -> Result<Measurement>;

/// Several functions of the same arguments, a block of each in turn, so that drifts of the machine meet all of them.
[[nodiscard]] auto bench_interleaved(std::span<const JitFunction* const> functions, std::span<const int64_t> sizes,
                                     const BenchOptions& options = {}, uint64_t seed = 1) -> Result<std::vector<Measurement>>;

/// Is the second as fast as the first? Of two measurements that were taken in turns.
struct Speeds {
  enum class Verdict : uint8_t { Same, Faster, Slower };   // Same: no difference can be told
  Verdict verdict = Verdict::Same;
  double ratio = 1;                  // of the second's time to the first's, the median over pairs of blocks
  double chance = 1;                 // how likely two functions whose times differ by `least_difference` look as far apart
};
/// By Wilcoxon's signed-rank test over pairs of blocks (exact), of whether they differ by more than `least_difference`: so much comes of where
/// code and data happen to lie in memory, and of threads that meet `thread_jitter`. A difference is told where chance alone shows one to two of a hundred at most. Fewer than seven
/// pairs tell nothing.
[[nodiscard]] auto compare(const Measurement& first, const Measurement& second) -> Speeds;
constexpr double least_difference = 0.04;
constexpr double thread_jitter = 0.5e-6;   // seconds a call
constexpr double most_chance = 0.02;

/// What is counted in a call, the mean of some calls with caches as they are asked for. Not while anything is timed: counting costs time.
[[nodiscard]] auto count_events(const JitFunction& function, std::span<const int64_t> sizes, const BenchOptions& options = {}, uint64_t seed = 1)
    -> Result<EventCounts>;

/// The same blocks and medians for any callable; for baselines in tests/bench.
[[nodiscard]] auto bench_callable(const std::function<void()>& run, const BenchOptions& options = {}) -> Measurement;

}  // namespace loopsmith::runtime
