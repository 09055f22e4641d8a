// Rules of sketches that files write: `auto_scheduler.PreloadCustomSketchRule(meet_condition_func, apply_func)`.
//
// A condition returns `PreloadCustomSketchRule.PASS`, `APPLY` or `APPLY_AND_SKIP_REST`; the other function returns pairs of a state and the number of the stage to visit next.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "script/auto_scheduler/sketches.h"
#include "script/auto_scheduler/steps.h"

namespace loopsmith::script::auto_scheduler {

/// The rules of a file, in the order of the text. A function that fails leaves its reason in `failure`, and its rule makes no state.
[[nodiscard]] auto custom_rules(frontend::File& file, const Task& task, const Prepared& prepared, const std::shared_ptr<std::string>& failure) -> std::vector<SketchRule>;

/// The member `PreloadCustomSketchRule` of the namespace, with the answers of a condition.
[[nodiscard]] auto custom_rule_type() -> eval::Value;
/// The member `loop_state`: `loop_state.State(state, dag)` is the state.
[[nodiscard]] auto loop_state_namespace() -> eval::Value;

}  // namespace loopsmith::script::auto_scheduler
