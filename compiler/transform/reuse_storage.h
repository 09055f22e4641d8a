// reuse_storage: lets buffers with disjoint lifetimes share memory.
//
//     X = T.allocate([65536])                        X = T.allocate([65536])
//     Y = T.allocate([65536])                        for i: X[i] = A[i] + 1
//     Z = T.allocate([65536])                        for i: X[i] = exp(X[i])
//     for i: X[i] = A[i] + 1             ==>         for i: X[i] = X[i] * 2
//     for i: Y[i] = exp(X[i])                        for i: B[i] = X[i]
//     for i: Z[i] = Y[i] * 2
//     for i: B[i] = Z[i]
//
// A buffer is alive from the first statement of a sequence that accesses it to the last one (liveness as in register allocation by
// linear scan, Poletto and Sarkar, 1999). If a buffer dies in the statement where another begins, the two can share memory if the
// statement reads each element only to compute the element at the same index, and visits no element twice.
//
// Needs   flat accesses.
// Gives   fewer buffers among those that are too large for the stack, none of them larger; small buffers stay, for registers.
// Keeps   values; types: only buffers of the same type share.
// Place   after remove_no_op; before plan_storage, which moves allocations outwards.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto reuse_storage(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
