// check_bounds: a test before every access, on request (`LowerOptions::check_bounds`).
//
//     B[i] = A[P[i]]     ==>     if not (0 <= P[i] and P[i] < 16):
//                                    T.call_extern("loopsmith_out_of_bounds", "index {index} of `A` ...", P[i], 16)
//                                    assert False, ""
//                                B[i] = A[P[i]]
//
// The text names the dimension and the line, and the runtime inserts index and extent; the assertion stops the kernel.
// The test of a conditional access is under the same conditions. A buffer that is declared on memory which may be smaller has a test for that memory too.
//
// Needs   loops, and no blocks; accesses with an index for every dimension.
// Gives   a test for every access outside of an extent. Accesses through pointers have no test.
// Keeps   values.
// Place   before simplify, which drops the tests that always hold. So tests use the extents of compacted buffers, not those
//         of the source.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto check_bounds(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
