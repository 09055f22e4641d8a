// The regions of buffers that a block reads and writes, found from its body: for blocks without `T.reads` and
// `T.writes`, and for blocks whose accesses a primitive rewrote.
#pragma once

#include <vector>

#include "ir/ir.h"

namespace loopsmith::schedule {

struct AccessRegions { std::vector<BufferRegion> reads, writes; };

/// Regions of the buffers in `known` (and of those matched to them), in the order of appearance. Blocks inside count
/// by their declared regions. A buffer used as a pointer counts as read and written as a whole.
[[nodiscard]] auto find_access_regions(const Block& block, const std::vector<Buffer>& known) -> AccessRegions;

}  // namespace loopsmith::schedule
