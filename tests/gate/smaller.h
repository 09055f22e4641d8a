// Programs made smaller by one change: what shrinking (shrink.cpp) tries one after the other. Nothing here asks whether the result
// still fails, or is right at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::gate {

enum class Change : uint8_t {
  Functions,    // of a module, `main` alone
  Statement,    // one left out; what nobody makes any more becomes a parameter
  Part,         // a branch for a condition, an operand for an operation, no init, a plain loop, no predicate, a value for its name
  Loop,         // one left out: its variable is where the loop began
  Axis,         // an iter var of a block left out
  Dimension,    // of a buffer left out
  Parameter,    // a buffer of the function's own becomes one
  Extent,       // of a loop, an iter var or a buffer, alone
};

struct Smaller {
  std::string program;                 // as text, without regions, which belong to what was there before
  /// Where a loop was left out: the blocks in it, and how many loops were around it.
  struct Gone { std::vector<std::string> blocks; int index = 0; };
  std::optional<Gone> loop = {};
};

/// The change at place number `part` of `main`; none: there are no more places. Equal arguments give equal results.
[[nodiscard]] auto smaller(const IRModule& module, Change change, size_t part) -> std::optional<Smaller>;

}  // namespace loopsmith::gate
