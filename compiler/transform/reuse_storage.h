// reuse_storage: buffers that are not alive at the same time share their memory.
//
//     X = T.allocate([65536])                        X = T.allocate([65536])
//     Y = T.allocate([65536])                        for i: X[i] = A[i] + 1
//     Z = T.allocate([65536])                        for i: X[i] = exp(X[i])
//     for i: X[i] = A[i] + 1             ==>         for i: X[i] = X[i] * 2
//     for i: Y[i] = exp(X[i])                        for i: B[i] = X[i]
//     for i: Z[i] = Y[i] * 2
//     for i: B[i] = Z[i]
//
// A buffer is alive from the first of the statements in sequence that touches it to the last (liveness as in register allocation by
// linear scan, Poletto and Sarkar, 1999). One that dies where another begins is written in place, where that statement reads each
// element only for the element it writes there, and comes to no element twice.
//
// Needs   flat accesses.
// Gives   fewer and no larger buffers of those that are too large for the stack; small ones are left to registers.
// Keeps   values; types: only buffers of the same type share.
// Place   after remove_no_op; before plan_storage, which asks for the memory further outside.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto reuse_storage(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
