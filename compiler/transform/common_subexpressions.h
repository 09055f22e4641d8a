// common_subexpressions: binds values that are computed in several places to a variable, on request.
//
//     B[i * 64 + j] = A[i * 64 + j] + C[i * 64 + j]      ==>      cse: T.int32 = i * 64 + j
//                                                                 B[cse] = A[cse] + C[cse]
//
// Only arithmetic on scalars: no loads, no calls, no divisions by a possible zero. A value is bound in front of the outermost
// body (of the function, a loop, a branch) in which all of its variables are defined and that uses it twice; larger values first. LLVM does
// the same later; the purpose here is shorter printed programs.
//
// Needs   `share_subexpressions`, else it does nothing; lowered form.
// Gives   lets, named `cse`.
// Keeps   values.
// Place   near the end: earlier passes compute ranges from whole expressions.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto common_subexpressions(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
