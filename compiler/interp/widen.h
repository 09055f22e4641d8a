// Programs in wider types: the same computation without the rounding of the original types. Short types (float16, bfloat16, types of at most 8 bits)
// become float32; if float32 itself rounds too much, as in sums of a million numbers, all of them become float64.
#pragma once

#include "ir/ir.h"

namespace loopsmith::interp {

/// True when a parameter of the function is of a short type.
[[nodiscard]] auto has_short_reals(const PrimFunc& func) -> bool;

/// `bits` of the wider type: 32 or 64. Null for programs that depend on the bits of narrower numbers: reinterpretations, constants in memory, external code.
[[nodiscard]] auto with_wide_reals(const IRModule& module, int bits = 32) -> IRModule;

}  // namespace loopsmith::interp
