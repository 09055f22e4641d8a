// Checks that all instances of a block at its new place under a loop run, and in a good order. Runs the instances one by one, as in instances.h.
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// The effects of moving a block to the end of a loop's body, where it gets new loops, iter values and a predicate.
struct Replaced {
  bool begins_late = false;                  // an update runs before the init of its reduction
  bool runs_all = true;                      // every instance in the domains of the iter vars runs
  bool reads_early = false;                  // an element that an instance declares to read is written again after its last run (`each_time`: after any run)
  bool reads_unmade = false;                 // an instance runs before the first write of an element that it declares to read
};
/// None: too many instances, or an unknown value.
[[nodiscard]] auto counted_replacement(const FuncTree& func, const Place& loop, const Block& block, const Domains& loops,
                                       const std::vector<Expr>& iter_values, const Expr& predicate, bool each_time) -> std::optional<Replaced>;

}  // namespace loopsmith::schedule
