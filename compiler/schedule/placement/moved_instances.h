// The instances of a moved block: which run, how often, and in which order.
#pragma once

#include <vector>

#include "arith/analyzer.h"
#include "schedule/placement/nest.h"
#include "schedule/placement/relocation.h"

namespace loopsmith::schedule::placement {

/// For reverse_compute_at: the block still makes all of its output, also the part that does not depend on its producers (padding).
[[nodiscard]] auto require_all_output_runs(const Relocation& move, const Nest& nest, arith::Analyzer& analyzer) -> Status;
/// A reduction whose updates do not commute still runs them in the order of its iter vars, and completely under the loop.
[[nodiscard]] auto require_update_order(const Relocation& move, const Nest& nest) -> Status;
/// No instance of a reduction runs twice, unless the whole reduction starts again: its update would count twice. `unfinished`: producers that still
/// run while instances of the block run.
[[nodiscard]] auto require_instances_once(const Relocation& move, const Nest& nest, const std::vector<NodeId>& unfinished) -> Status;

/// The iter vars to check: if the loops around the block now run all their values, the new loops do so too.
enum class InstancesOf : uint8_t { ReductionIters, AllIters };
[[nodiscard]] auto require_ran_before(const Relocation& move, InstancesOf of) -> Status;
/// For compute_at: if the loops around the block now run only a part of an iter var's domain, the new loops stay within that part. Instances outside of it
/// may access elements outside of the buffers.
[[nodiscard]] auto require_no_new_values(const Relocation& move, const Nest& nest) -> Status;
/// The predicate, which is built anew, only keeps iter vars in their domains.
[[nodiscard]] auto require_plain_predicate(const Relocation& move) -> Status;
/// No update of a reduction runs before its init.
[[nodiscard]] auto require_init_first(const Relocation& move, const Nest& nest) -> Status;
/// For reverse_compute_at: the same; also, all instances run, and each reads final values. Checked by running the iterations if they are few enough.
[[nodiscard]] auto require_good_iterations(const Relocation& move, const Nest& nest) -> Status;

}  // namespace loopsmith::schedule::placement
