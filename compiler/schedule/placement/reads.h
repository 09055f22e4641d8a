// The elements that a moved block reads at its new place: each must have its final value at that time.
#pragma once

#include "arith/analyzer.h"
#include "schedule/placement/nest.h"
#include "schedule/placement/relocation.h"

namespace loopsmith::schedule::placement {

/// No new loop begins at a value that is loaded from a buffer: this load would run even where the predicate of a block is false, and no block declares it.
[[nodiscard]] auto require_known_starts(const Relocation& move, const Nest& nest) -> Status;

/// For reverse_compute_at: each instance runs after the writes of its producers, and their sums are complete. `reads_several`: the block reads several
/// buffers, of which an iteration may make different parts.
[[nodiscard]] auto require_reads_after_producers(const Relocation& move, const Nest& nest, bool reads_several, arith::Analyzer& analyzer) -> Status;

/// For compute_at: the elements that the block reads from producers under the same loops exist when its instances run. At an inner place, an iteration
/// may run more instances of the block than before.
[[nodiscard]] auto require_reads_made(const Relocation& move, const Nest& nest, arith::Analyzer& analyzer) -> Status;

}  // namespace loopsmith::schedule::placement
