// unswitch_predicates: one test for a whole tile instead of one for every element.
//
//     for i0 in range(8):                            for i0 in range(8):
//         for k in range(64):                            if i0 * 16 + 15 < 127:
//             for i1 in T.vectorized(16):    ==>             for k in range(64):
//                 if i0 * 16 + i1 < 127:                         for i1 in T.vectorized(16): <body>
//                     <body>                             else: <as before>
//
// A tile that a size does not divide puts a condition around its innermost statement. Where the condition's range
// over the loops further in has ends, the tile's loops are written twice: without the conditions where they hold for
// all iterations, and as they were. The test stands outside the first loop that the conditions do not mention (a
// reduction), or that is vectorized or unrolled.
//
// Needs   no blocks.
// Gives   tiles in the interior without conditions: registers and vector code as if the sizes were divisible.
// Keeps   values; a function grows at most to `unswitch_limit` statements.
// Place   before vectorize_loop, which makes masks of the conditions that are left.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto unswitch_predicates(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
