// unroll_loop: replaces loops by copies of their bodies.
//
//     for k in T.unroll(2):                     C[0] = C[0] + A[0]
//         C[k] = C[k] + A[k]          ==>       C[1] = C[1] + A[1]
//
// It unrolls loops marked `unroll`, as long as the function stays below `unroll_limit` statements. Under
// `pragma_auto_unroll_max_step = n` it also unrolls innermost serial loops, and loops around unrolled ones, if that
// results in at most n statements.
//
// Needs   constant extents (other loops are unchanged).
// Gives   no pragmas of unrolling; indices into small local buffers are constants, so that these can be
//         registers.
// Keeps   values; origins.
// Place   after vectorize_loop.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto unroll_loop(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
