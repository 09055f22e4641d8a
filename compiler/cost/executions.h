// The number of times that a nest of loops reaches a place. It is the product of extents, except for groups of loops that a condition
// or the extent of another loop connects: the iterations of each such group are enumerated.
//
//     for i0, i1, j in T.grid(7, 16, 64):         i0 and i1 are enumerated, 112 iterations; j is multiplied: 100 * 64
//         if i0 * 16 + i1 < 100:
//
// Nested loops over the same thread index count once: the inner loop runs only for the thread of the outer one.
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::cost {

struct LoopAround {
  Var var;
  Expr min, extent;                // a null extent is unknown
  Name thread = {};                // "threadIdx.x" ...; empty: no threads
};

/// The loops around a place, outermost first, and the conditions over their variables; a condition may be undecidable.
struct Surroundings {
  std::vector<LoopAround> loops;
  std::vector<Expr> conditions;
};

struct Executions {
  int64_t count = 0;
  bool is_most = false;            // `count` is an upper bound; else it is exact
};

/// The number of times that one iteration of the first `still` loops reaches the place; the largest one, if it differs between iterations.
/// `steps`: the number of iterations that may still be enumerated; beyond them conditions count as true. None: an extent is unknown.
[[nodiscard]] auto executions(const Surroundings& nest, size_t still, int64_t& steps) -> std::optional<Executions>;

}  // namespace loopsmith::cost
