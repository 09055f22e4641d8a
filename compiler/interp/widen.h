// Programs with all numbers of short types (float16, bfloat16, those of 8 bits and less) in float32: what they compute but for rounding.
#pragma once

#include "ir/ir.h"

namespace loopsmith::interp {

/// Are there numbers of short types that the function gets or gives?
[[nodiscard]] auto has_short_reals(const PrimFunc& func) -> bool;

/// Null: the bits of such numbers mean something to the program (a reinterpretation, constants in memory, code from elsewhere).
[[nodiscard]] auto with_wide_reals(const IRModule& module) -> IRModule;

}  // namespace loopsmith::interp
