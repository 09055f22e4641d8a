// check_bounds: a test before every access, on demand (`LowerOptions::check_bounds`).
//
//     B[i] = A[P[i]]     ==>     assert 0 <= P[i] and P[i] < 16, "`A[{index}]` is outside of its extent {extent} (dimension 0), line 7"
//                                B[i] = A[P[i]]
//
// An access that only some conditions reach is tested under them. The code generator puts the values in (codegen/codegen.h).
//
// Needs   loops, and no blocks; accesses with an index for every dimension.
// Gives   no access beyond an extent that an assertion did not stop. What only pointers reach is not seen.
// Keeps   values.
// Place   before simplify, which drops the tests that always hold; what came before, compacted buffers above all, changed
//         extents that a program did not write.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto check_bounds(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
