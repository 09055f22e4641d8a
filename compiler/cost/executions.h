// How often a place in a nest of loops is reached: the product of extents where nothing else decides, else by trying the iterations of
// those loops that a condition, or the extent of another loop, ties together; each such group by itself.
//
//     for i0, i1, j in T.grid(7, 16, 64):         i0 and i1 are tried, 112 times; j is multiplied: 100 * 64
//         if i0 * 16 + i1 < 100:
//
// Loops over the same thread index are one: the inner one runs over nothing that the outer one does not.
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::cost {

struct LoopAround {
  Var var;
  Expr min, extent;                // extent none: not known
  Name thread = {};                // "threadIdx.x" ...; empty: no threads
};

/// What is around a place: loops, outermost first, and conditions over their variables, any of which may be undecidable.
struct Surroundings {
  std::vector<LoopAround> loops;
  std::vector<Expr> conditions;
};

struct Executions {
  int64_t count = 0;
  bool is_most = false;            // no more than that; else exactly
};

/// The first `still` loops stand at one iteration: how often the place is reached within it, at most where that differs between them.
/// `steps`: iterations that may still be tried; beyond them conditions count as true. None: an extent is not known.
[[nodiscard]] auto executions(const Surroundings& nest, size_t still, int64_t& steps) -> std::optional<Executions>;

}  // namespace loopsmith::cost
