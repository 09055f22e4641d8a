// inline_calls: replaces calls of the module's functions by their bodies.
//
//     A[i] = Module.half(A[i]) + 1                    ==>   A[i] = A[i] * 0.5 + 1
//
//     for i: Module.clear(T.address_of(A[i, 0]), 16)  ==>   for i:
//                                                               data = T.address_of(A[i, 0])
//                                                               for j in range(16): B[j] = 0     (B: at data)
//
// A call as a statement becomes the body of the function. A call in an expression becomes the returned value, built from `let`s,
// conditions and `return`s; if the value needs loops, and the function writes nothing else, it becomes a cell that is filled before
// the statement. A `return` in a loop sets a flag in a cell and breaks out of the loop. Calls of packed functions that the module
// defines are inlined, too. Not inlined are calls of recursive functions, of functions that return in loops whose iterations have no
// order, of functions for another target, calls with unsuitable arguments, and calls beyond `inline_limit` in a function. Private
// functions without remaining calls are dropped.
//
// Needs   nothing.
// Gives   no calls between functions, except for those above.
// Keeps   values; origins; the order of effects: only expressions without effects are evaluated twice.
// Place   first: all other passes work on one function at a time.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

/// The limit of inlined calls in a function.
constexpr int inline_limit = 1000;

[[nodiscard]] auto inline_calls(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
