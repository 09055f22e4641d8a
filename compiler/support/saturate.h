// Sums and products of counts that may overflow 64 bits: the result is then the largest number, which means "very many".
#pragma once

#include <cstdint>
#include <limits>

namespace loopsmith {

/// Precondition of both: no result is below the smallest 64-bit number.
[[nodiscard]] inline auto saturating_add(int64_t a, int64_t b) -> int64_t {
  int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}
[[nodiscard]] inline auto saturating_mul(int64_t a, int64_t b) -> int64_t {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

}  // namespace loopsmith
