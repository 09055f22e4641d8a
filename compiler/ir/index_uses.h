// Buffers of indices: parameters of integers whose elements select the accessed positions, as `at` does in `out[at[i]] += v[i]`, and the values for which
// these accesses stay inside their buffers. Commands that fill parameters with random numbers fill these parameters within this range.
//
// Indices are followed through loops with loaded bounds (rows of a sparse matrix), lets, block iter vars and stores to local buffers. Casts of reals have no range.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

/// An access at `scale` * x + [low, high] in a dimension of this extent, where x is any element of the parameter.
struct IndexUse {
  size_t parameter = 0;
  Expr extent;           // the extent of the dimension; may contain shape variables
  int64_t scale = 1;     // positive
  int64_t low = 0, high = 0;
};
struct IndexUses {
  std::vector<IndexUse> known;
  std::vector<size_t> unknown;   // parameters whose elements are indices, in a form for which no range can be computed

  /// True if no parameter contains indices.
  [[nodiscard]] auto empty() const -> bool { return known.empty() && unknown.empty(); }
};
[[nodiscard]] auto index_uses(const PrimFunc& func) -> IndexUses;

/// The values of a parameter that all its uses allow, from the extents of its uses. `last` < `first`: no value.
struct IndexRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;
  void narrow(const IndexUse& use, int64_t extent);
};

}  // namespace loopsmith
