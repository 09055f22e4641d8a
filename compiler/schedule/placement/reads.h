// The elements that a moved block reads at its new place: each must have its final value by then.
#pragma once

#include "arith/analyzer.h"
#include "schedule/placement/nest.h"
#include "schedule/placement/relocation.h"

namespace loopsmith::schedule::placement {

/// No new loop begins at a value that is loaded from a buffer: the load would run whatever predicates hold, and no block declares it.
[[nodiscard]] auto require_known_starts(const Relocation& move, const Nest& nest) -> Status;

/// For reverse_compute_at: an instance runs after the writes of its producers, sums included. `reads_several`: the block reads several buffers,
/// of which producers may make different parts in an iteration.
[[nodiscard]] auto require_reads_after_producers(const Relocation& move, const Nest& nest, bool reads_several, arith::Analyzer& analyzer) -> Status;

/// For compute_at: the elements that the block reads of producers under the same loops are there when its instances run. Moved further in, it
/// may run more instances in an iteration than before.
[[nodiscard]] auto require_reads_made(const Relocation& move, const Nest& nest, arith::Analyzer& analyzer) -> Status;

}  // namespace loopsmith::schedule::placement
