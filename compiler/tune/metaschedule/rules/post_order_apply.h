// Makes a design space by running rules over the blocks of a function.
#pragma once

#include <vector>

#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {

struct RuleSpace {
  Schedules schedules;
  /// The steps of rules that were refused. Such a rule leaves its block alone, where TVM ends with an error. A rule that makes too many schedules is left out.
  Diagnostics refusals = {};
};

/// Chooses the blocks that the rules visit.
using VisitFilter = std::function<Result<bool>(const Ref<Block>&)>;

/// The schedule from which a space of traces begins, with TVM's random numbers for the seed of its tuning context.
[[nodiscard]] auto first_schedule(const IRModule& module, Name function, int64_t rand_state, std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics) -> Result<schedule::Schedule>;

/// Applies each rule in turn to every block, the last one in the post-order of blocks first, on each schedule that the rules before have made. The random
/// numbers follow from `rand_state`, the seed of TVM's tuning context. `intrinsics` are those of the file. Without a filter all blocks are visited.
[[nodiscard]] auto post_order_apply(const IRModule& module, Name function, const Rules& rules, int64_t rand_state,
                                    std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics = nullptr, const VisitFilter& filter = {}) -> Result<RuleSpace>;

}  // namespace loopsmith::tune::rules
