// common_subexpressions: what is computed in several places is computed once, where that is asked for.
//
//     B[i * 64 + j] = A[i * 64 + j] + C[i * 64 + j]      ==>      cse: T.int32 = i * 64 + j
//                                                                 B[cse] = A[cse] + C[cse]
//
// Arithmetic on scalars only: no loads, no calls, no divisions by what may be zero. A value is bound in front of the outermost
// body (of the function, a loop, a branch) in which all of its variables are known and which has it twice; larger values first.
// LLVM does the same later on; this makes printed programs shorter to read.
//
// Needs   `share_subexpressions`; else nothing happens. Lowered form.
// Gives   lets, named `cse`.
// Keeps   values.
// Place   last: before, ranges are read out of whole expressions.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto common_subexpressions(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
