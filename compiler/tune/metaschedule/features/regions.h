// The part of each allocated buffer that is accessed within one run of the place of its allocation, as TVM's CompactBufferAllocation finds it: the
// buffer shrinks to this part.
#pragma once

#include <unordered_map>

#include "ir/ir.h"
#include "tune/metaschedule/features/locations.h"

namespace loopsmith::tune::metaschedule {

/// The accessed ranges of each buffer; their begins are in terms of the loops around the allocation.
using Compacted = std::unordered_map<const BufferNode*, std::vector<Range>>;
[[nodiscard]] auto find_regions(const PrimFunc& func, const AllocationsByPlace& allocations) -> Compacted;

}  // namespace loopsmith::tune::metaschedule
