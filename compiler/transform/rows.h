// Vector accesses that extend over the end of a buffer's row, as `B[0, 0:64]` of a (16, 4) buffer: they continue in the next row.
#pragma once

#include "ir/ir.h"

namespace loopsmith::transform {

/// The indices with a separate index for each lane and dimension, `B[ramp // 4, ramp % 4]`, if the last index is a constant ramp that leaves its
/// row; otherwise the same indices. For buffers whose rows are not contiguous in memory: in other buffers the ramp reaches the same elements anyway.
[[nodiscard]] auto spread_over_rows(const Array<Expr>& shape, const Array<Expr>& indices) -> Array<Expr>;

}  // namespace loopsmith::transform
