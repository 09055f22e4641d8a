// Vector accesses that run over the end of a buffer's row, as `B[0, 0:64]` of a (16, 4) buffer: they go on with the next row.
#pragma once

#include "ir/ir.h"

namespace loopsmith::transform {

/// The indices with one of its own for each lane and dimension, `B[ramp // 4, ramp % 4]`, where the last index is a constant ramp that leaves its
/// row; else the same indices. For buffers whose rows are not contiguous in memory: in others the ramp reaches the same elements by itself.
[[nodiscard]] auto spread_over_rows(const Array<Expr>& shape, const Array<Expr>& indices) -> Array<Expr>;

}  // namespace loopsmith::transform
