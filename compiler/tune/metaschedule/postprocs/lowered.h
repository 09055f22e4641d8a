// Programs lowered far enough for checks of memory and vectors, as TVM's checking post-processors lower them: blocks are gone, allocations have the size
// that one iteration needs, accesses have one index, vectorized loops are vectors. Bound loops stay loops.
#pragma once

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::tune::metaschedule {

[[nodiscard]] auto lowered_for_checks(const IRModule& module) -> Result<IRModule>;

/// The bytes of an allocation; none where its size is not constant, or too large for 64 bits.
[[nodiscard]] auto bytes_of(const Allocate& node) -> std::optional<int64_t>;

}  // namespace loopsmith::tune::metaschedule
