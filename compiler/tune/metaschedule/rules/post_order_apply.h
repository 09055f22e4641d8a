// Makes a design space by running rules over the blocks of a function.
#pragma once

#include <vector>

#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {

/// Applies each rule in turn to every block, the last one in the post-order of blocks first, on each schedule that the rules before have made. The random
/// numbers follow from `rand_state`, the seed of TVM's tuning context.
[[nodiscard]] auto post_order_apply(const IRModule& module, Name function, const Rules& rules, int64_t rand_state) -> Result<Schedules>;

}  // namespace loopsmith::tune::rules
