// separate_init: the init of a reduction as a block of its own in front of the loops it starts.
//
//     for i:                                 for i:
//         for k:                                 for j:
//             for j:                                 with block("C_init"): C[vi, vj] = 0
//                 with block("C"):       ==>     for k:
//                     init: C[vi, vj] = 0            for j:
//                     C[vi, vj] = ... A ... B            with block("C"): C[vi, vj] = ... A ... B
//
// What decompose_reduction does, for whom nobody asked: without a test in every iteration the compiler behind sees plain loops,
// keeps sums in registers and makes vectors. A block is left as it is where
//
//  - something else stands in the loops from the outermost one that feeds a reduction axis;
//  - an iteration of those loops is not one element of what is written (bindings that are not a bijection, indices other than
//    the axes), or the block reads its result elsewhere or under another name;
//  - one of those loops belongs to a thread or is vectorized and feeds a reduction, or has an extent that is not known.
//
// Needs   schedule level.
// Gives   blocks; those that are left keep their init.
// Keeps   values; origins; ids of blocks.
// Place   before lower_init_block, which makes conditions of the rest.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto separate_init(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
