// Calls that apply the steps of TVM's auto-scheduler and give a schedule: `sch, args = task.apply_best(LOG)`, `sch, args = dag.apply_steps_from_state(STATE)`,
// and of its first version `sch, args = auto_scheduler.auto_schedule(TASK, tuning_options=OPTIONS)`.
#pragma once

#include <string_view>

#include "syntax/ast.h"

namespace loopsmith::syntax {

/// True for the name of such a method.
[[nodiscard]] inline auto is_record_method(std::string_view name) -> bool { return name == "apply_best" || name == "apply_steps_from_state" || name == "auto_schedule"; }
/// True for a call of such a method, with an argument.
[[nodiscard]] inline auto applies_record(const CallExpr& call) -> bool {
  const auto* method = call.callee->as<AttributeExpr>();
  return method && is_record_method(method->attr.name.view()) && (!call.args.empty() || !call.keywords.empty());
}

}  // namespace loopsmith::syntax
