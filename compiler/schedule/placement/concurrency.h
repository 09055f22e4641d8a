// Loops around a moved block whose iterations run at the same time: each iteration must run its own part of the block.
#pragma once

#include "arith/analyzer.h"
#include "schedule/placement/nest.h"
#include "schedule/placement/relocation.h"

namespace loopsmith::schedule::placement {

/// For compute_at: iterations share no instances whose operands are made under the same loop, and no iteration runs a mere part of a reduction.
[[nodiscard]] auto require_apart_from_makers(const Relocation& move, const Nest& nest) -> Status;
/// For reverse_compute_at: iterations share no instances and no output elements, and no iteration runs a mere part of a reduction.
[[nodiscard]] auto require_apart_from_others(const Relocation& move, const Nest& nest, arith::Analyzer& analyzer) -> Status;

}  // namespace loopsmith::schedule::placement
