// The gate's random numbers: the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "support/hash.h"

namespace loopsmith::gate {

struct Random {
  uint64_t state;
  auto next() -> uint64_t { return state = hash_combine(state, 0x51ed); }
  auto below(int64_t n) -> int64_t { return n <= 0 ? 0 : static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  auto between(int64_t a, int64_t b) -> int64_t { return a + below(b - a + 1); }
  auto chance(int percent) -> bool { return below(100) < percent; }
  template <class T> auto pick(const std::vector<T>& items) -> const T& { return items[static_cast<size_t>(below(static_cast<int64_t>(items.size())))]; }
};

}  // namespace loopsmith::gate
