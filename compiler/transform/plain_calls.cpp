// Rewrites constants and lists as plain TIR: see plain_calls.h.
#include "transform/plain_calls.h"

#include "ir/plain.h"

namespace loopsmith::transform {

auto plain_calls(const IRModule& module, const LowerContext&) -> Result<IRModule> { return with_plain_calls(module); }

}  // namespace loopsmith::transform
