// separate_init: moves the init of a reduction into a separate block in front of the reduction loops.
//
//     for i:                                 for i:
//         for k:                                 for j:
//             for j:                                 with block("C_init"): C[vi, vj] = 0
//                 with block("C"):       ==>     for k:
//                     init: C[vi, vj] = 0            for j:
//                     C[vi, vj] = ... A ... B            with block("C"): C[vi, vj] = ... A ... B
//
// It does the work of decompose_reduction for blocks that the schedule did not decompose. Without a test in every iteration, LLVM
// receives plain loops, keeps sums in registers and uses vectors. A block keeps its init if
//
//  - the loops from the outermost one that feeds a reduction axis contain other statements;
//  - an iteration of those loops does not correspond to one written element (bindings that are not a bijection, indices other
//    than the axes), or the block reads its result at other indices or through another buffer;
//  - one of those loops is bound to a thread, is vectorized and feeds a reduction, or has an unknown extent.
//
// Needs   schedule level.
// Gives   separate init blocks, except for the cases above.
// Keeps   values; origins; ids of blocks.
// Place   before lower_init_block, which turns the remaining inits into conditions.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto separate_init(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
