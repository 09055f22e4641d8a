// check_bounds: a test before every access, on demand (`LowerOptions::check_bounds`).
//
//     B[i] = A[P[i]]     ==>     if not (0 <= P[i] and P[i] < 16):
//                                    T.call_extern("loopsmith_out_of_bounds", "index {index} of `A` ...", P[i], 16)
//                                    assert False, ""
//                                B[i] = A[P[i]]
//
// The runtime puts index and extent into the text, which names the dimension and the line as well; the assertion stops the kernel.
// An access that only some conditions reach is tested under them.
//
// Needs   loops, and no blocks; accesses with an index for every dimension.
// Gives   no access beyond an extent that nothing stopped. What only pointers reach is not seen.
// Keeps   values.
// Place   before simplify, which drops the tests that always hold; what came before, compacted buffers above all, changed
//         extents that a program did not write.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto check_bounds(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
