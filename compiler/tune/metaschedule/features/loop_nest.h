// The loops around a statement, by kind, as features count them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::tune::metaschedule {

struct LoopNest {
  int64_t product = 1;                       // of all constant extents
  std::vector<const For*> loops;             // the outermost first
  std::vector<int64_t> unroll_steps;         // of the pragmas around
  std::vector<const For*> vectorized, unrolled, parallel, virtual_threads;
  std::vector<const For*> blocks[3], threads[3];   // x, y, z

  void push(const For& loop);
  void pop();

 private:
  // The list that a loop belongs to besides `loops`; null: it is serial.
  auto list_of(const For& loop) -> std::vector<const For*>*;
};

/// The number of iterations; none where it is not constant.
[[nodiscard]] auto extent_of(const For& loop) -> std::optional<int64_t>;

}  // namespace loopsmith::tune::metaschedule
