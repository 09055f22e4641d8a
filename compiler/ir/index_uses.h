// Buffers of indices: parameters of integers whose elements choose the places of accesses, as `at` does in `out[at[i]] += v[i]`, and the values that
// keep those accesses inside of their buffers. Commands that fill parameters with random numbers fill these within their range.
//
// Indices are followed through loops whose bounds are loaded (rows of a sparse matrix), lets, block iter vars and local buffers with one store.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

/// An access at `scale` x + [low, high] of a dimension of this extent, x being any element of the parameter.
struct IndexUse {
  size_t parameter = 0;
  Expr extent;           // of the dimension; may name shape variables
  int64_t scale = 1;     // positive
  int64_t low = 0, high = 0;
};
struct IndexUses {
  std::vector<IndexUse> known;
  std::vector<size_t> unknown;   // parameters whose elements are indices in a form that gives no range

  /// True where nothing is an index.
  [[nodiscard]] auto empty() const -> bool { return known.empty() && unknown.empty(); }
};
[[nodiscard]] auto index_uses(const PrimFunc& func) -> IndexUses;

/// The values that all uses of a parameter allow, from the extents of its uses. `last` < `first`: none.
struct IndexRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;
  void narrow(const IndexUse& use, int64_t extent);
};

}  // namespace loopsmith
