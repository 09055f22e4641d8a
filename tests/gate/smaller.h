// Reduces programs by one change. Shrinking (shrink.cpp) tries the changes one after the other and checks the results: a smaller program
// need not fail, or even be correct.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::gate {

enum class Change : uint8_t {
  Functions,    // keeps only `main` of a module
  Statement,    // removes a statement; buffers that nobody writes any more become parameters
  Part,         // replaces a condition by a branch, an operation by an operand, a name by its value; removes an init, a loop kind, a predicate
  Loop,         // removes a loop: its variable becomes the loop's first value
  Axis,         // removes an iter var of a block
  Dimension,    // removes a dimension of a buffer
  Parameter,    // makes a buffer of the function a parameter
  Extent,       // reduces the extent of one loop, iter var or buffer
};

struct Smaller {
  std::string program;                 // as text, without regions, because those describe the original program
  /// For a removed loop: the blocks in it, and the number of loops around it.
  struct Gone { std::vector<std::string> blocks; int index = 0; };
  std::optional<Gone> loop = {};
};

/// Applies the change at place number `part` of `main`; none: there are no more places. Equal arguments give equal results.
[[nodiscard]] auto smaller(const IRModule& module, Change change, size_t part) -> std::optional<Smaller>;

}  // namespace loopsmith::gate
