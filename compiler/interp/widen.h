// Programs with float32 in place of all short types (float16, bfloat16, types of 8 bits and less): the same computation without their rounding.
#pragma once

#include "ir/ir.h"

namespace loopsmith::interp {

/// True when a parameter of the function is of a short type.
[[nodiscard]] auto has_short_reals(const PrimFunc& func) -> bool;

/// Null for programs that depend on the bits of such numbers: reinterpretations, constants in memory, external code.
[[nodiscard]] auto with_wide_reals(const IRModule& module) -> IRModule;

}  // namespace loopsmith::interp
