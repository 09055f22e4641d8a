// narrow_types: computes 64-bit loops and indices in 32 bits if they fit.
//
//     for i in T.serial(T.int64(64)):                 for i in T.serial(64):
//         B[i * T.int64(8) + k] = A[...]      ==>         B[i * 8 + T.Cast("int32", k)] = ...
//
// A loop with a known range gets an int32 variable. Indices, comparisons and conditions are computed in int32 if all of their
// parts fit for all iterations, else in int64 from converted variables. Parameters, lets and loads keep their types.
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
