// narrow_types: loops and indices of 64 bits that fit 32 are computed in 32.
//
//     for i in T.serial(T.int64(64)):                 for i in T.serial(64):
//         B[i * T.int64(8) + k] = A[...]      ==>         B[i * 8 + T.Cast("int32", k)] = ...
//
// A loop whose range is known becomes one over an int32; indices, comparisons and conditions are computed in int32 where each
// of their parts fits for all iterations, and in int64 from converted variables where one does not. What comes from outside
// (parameters, lets, loads) is as it was.
//
// Needs   flat buffers.
// Gives   no loop over int64 whose bounds are constant and fit.
// Keeps   values. `stay_wide` turns it off.
// Place   after the second simplification; before vectorising: vectors of 32-bit indices have twice the lanes.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto narrow_types(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
