// unswitch_predicates: tests a condition once per tile instead of once per element.
//
//     for i0 in range(8):                            for i0 in range(8):
//         for k in range(64):                            if i0 * 16 + 15 < 127:
//             for i1 in T.vectorized(16):    ==>             for k in range(64):
//                 if i0 * 16 + i1 < 127:                         for i1 in T.vectorized(16): <body>
//                     <body>                             else: <as before>
//
// A tile size that does not divide the extent puts a condition around the innermost statement. If the condition's range
// over the inner loops is bounded, the tile's loops are duplicated: a version without the conditions for tiles in which they
// hold for all iterations, and the original. The test is outside of the first loop that the conditions do not use (a
// reduction loop), or that is vectorized or unrolled.
//
// Needs   no blocks.
// Gives   interior tiles without conditions: registers and vector code as for sizes that divide evenly.
// Keeps   values; a function grows to at most `unswitch_limit` statements.
// Place   before vectorize_loop, which turns the remaining conditions into masks.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto unswitch_predicates(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
