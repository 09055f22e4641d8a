// plain_calls: rewrites constants by name and lists of values in plain TIR (ir/plain.h).
//
//     p = T.lookup_param("w")      ==>   w = T.allocate_const([...], "float32", [16])     (around the body)
//                                        p = w
//
// Needs   nothing.
// Gives   no call that depends on constants or lists of other functions in the module.
// Keeps   values; functions without such calls, as the same nodes.
// Place   first: inline_calls drops functions together with their constants.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto plain_calls(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
