// inline_calls: what a function of the module does, in place of its call.
//
//     A[i] = Module.half(A[i]) + 1                    ==>   A[i] = A[i] * 0.5 + 1
//
//     for i: Module.clear(T.address_of(A[i, 0]), 16)  ==>   for i:
//                                                               data = T.address_of(A[i, 0])
//                                                               for j in range(16): B[j] = 0     (B: at data)
//
// A call as a statement becomes the body of the function, a call in an expression the value that is returned: of `let`s,
// conditions and `return`s; or, where it takes loops to find it and nothing else is written, a cell that is filled before the statement.
// `return` in a loop notes that in a cell and breaks off. A call of a packed function that the module has is one of it. Left as they are:
// calls of functions that call themselves, that return in loops whose iterations have no order, that are for another target, or whose
// parameters do not fit; and those beyond `inline_limit` in one function. Private functions of which no call is left are dropped.
//
// Needs   nothing.
// Gives   no calls between functions, but those above.
// Keeps   values; origins; the order of effects, as what is evaluated twice has none.
// Place   first: all others look at one function at a time.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

/// Calls that become bodies in one function, at most.
constexpr int inline_limit = 1000;

[[nodiscard]] auto inline_calls(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
