// A block that stands anew under a loop: do its instances run in a good order, and all of them? Counted instance by instance, as in instances.h.
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// The effects of a block that stands anew under a loop, behind the statements there, with loops, iter values and a predicate.
struct Replaced {
  bool begins_late = false;                  // an update runs before the init of its reduction
  bool runs_all = true;                      // every instance in the domains of the iter vars runs
  bool reads_early = false;                  // an element that an instance declares to read gets another value after the instance ran for the last time (`each_time`: at all)
  bool reads_unmade = false;                 // an instance runs before the first write of an element that it declares to read, and that is written later
};
/// None: too many instances, or a value that is not known.
[[nodiscard]] auto counted_replacement(const FuncTree& func, const Place& loop, const Block& block, const Domains& loops,
                                       const std::vector<Expr>& iter_values, const Expr& predicate, bool each_time) -> std::optional<Replaced>;

}  // namespace loopsmith::schedule
