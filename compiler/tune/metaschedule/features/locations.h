// The loop or block in which TVM allocates each buffer of a function: the innermost one around all accesses (DetectBufferAccessLCA).
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::tune::metaschedule {

/// For each loop or block the buffers that are allocated in it, in the order of the first access.
using AllocationsByPlace = std::unordered_map<const StmtNode*, std::vector<Buffer>>;
[[nodiscard]] auto find_locations(const PrimFunc& func) -> AllocationsByPlace;

}  // namespace loopsmith::tune::metaschedule
