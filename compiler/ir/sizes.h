// The numbers of elements of buffers, and the type that their flat indices need.
//
// Shapes are mostly int32, and a buffer with int32 extents may have more elements than int32 counts: (60000, 60000). An index into each of its
// dimensions fits, the flat index does not. If the known extents show this, the flat index is computed in int64. The type of unknown
// extents stays: code generators compute addresses in 64 bits.
#pragma once

#include <optional>

#include "ir/ir.h"

namespace loopsmith {

/// The largest flat index of the buffer, in elements, from its known extents, strides and offset; unknown extents count as 1. None: it
/// overflows 63 bits.
[[nodiscard]] auto largest_flat_index(const BufferNode& buffer) -> std::optional<int64_t>;

/// True when flat indices of the buffer overflow int32.
[[nodiscard]] auto needs_wide_index(const BufferNode& buffer) -> bool;

/// An integer expression (or vector of integers) as int64.
[[nodiscard]] auto widened(Expr expr) -> Expr;

/// The product of extents, in int64 if the known extents overflow int32. Precondition: known extents do not overflow 63 bits (`known_product`).
[[nodiscard]] auto product_of(const Array<Expr>& extents) -> Expr;
/// The product of the known extents, with 1 in place of the others; none if it overflows 63 bits.
[[nodiscard]] auto known_product(const Array<Expr>& extents) -> std::optional<int64_t>;

}  // namespace loopsmith
