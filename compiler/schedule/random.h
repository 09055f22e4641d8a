// The random numbers of a schedule: TVM's linear congruential engine, so that a seed gives TVM's samples.
// x' = 48271 x mod (2^31 - 1); the state is kept in 64 bits and never negative.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace loopsmith::schedule {

class RandomEngine {
 public:
  using result_type = uint64_t;
  static constexpr uint64_t multiplier = 48271;
  static constexpr uint64_t modulus = 2147483647;
  /// -1: takes a seed from the machine's entropy.
  explicit RandomEngine(int64_t seed = -1) { this->seed(seed); }
  void seed(int64_t seed) {
    if (seed == -1) { seed = static_cast<int64_t>(std::random_device{}() % modulus); }
    state_ = seed == 0 ? 1 : static_cast<uint64_t>(seed) % modulus;
  }
  auto operator()() -> result_type { return state_ = state_ * multiplier % modulus; }
  static constexpr auto min() -> result_type { return 0; }
  static constexpr auto max() -> result_type { return modulus - 1; }
  /// A seed for another engine.
  auto fork_seed() -> int64_t { return static_cast<int64_t>(((*this)() * 32767) % 1999999973); }
  [[nodiscard]] auto state() const -> int64_t { return static_cast<int64_t>(state_); }

  /// An integer in [low, high), as TVM draws it.
  auto integer(int64_t low, int64_t high) -> int64_t;
  /// A real number in [low, high).
  auto real(double low, double high) -> double;
  /// An index, with the given weights.
  auto weighted(const std::vector<double>& weights) -> int64_t;

 private:
  uint64_t state_ = 1;
};

/// n factors in order, each >= 1, with the product `extent`; the last is at most `max_innermost` if that is positive.
[[nodiscard]] auto draw_perfect_tile(RandomEngine& random, int64_t extent, int64_t n, int64_t max_innermost) -> std::vector<int64_t>;

}  // namespace loopsmith::schedule
