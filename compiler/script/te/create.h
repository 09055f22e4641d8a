// `te.create_schedule`, and the functions of TVM that take its schedules.
#pragma once

#include <memory>
#include <optional>

#include "script/objects.h"
#include "syntax/ast.h"

namespace loopsmith::script {

/// The program that a schedule is made of: `tir.Schedule(PROGRAM)`, `te.create_schedule(OPS)`.
struct Made {
  IRModule module;                                       // none: the program is not known
  std::shared_ptr<const te::Stages> stages;              // of tensor expressions; their schedule is not set yet
};
/// The program that `value`, the argument of such a call, stands for.
[[nodiscard]] auto made_of(eval::Evaluator& evaluator, const eval::Value& value, const syntax::CallExpr& call) -> Made;

namespace te {

/// Makes a new schedule of a program one of tensor expressions, where it has stages. `is_at_once`: its steps are translated by `finish` only.
void add_stages(const ScheduleObject& schedule, const Made& made, bool is_at_once = false);
/// Translates all steps, also those of stages that wait for a later statement. Returns the reasons against one.
[[nodiscard]] auto finish(const ScheduleObject& schedule) -> Diagnostics;
/// `tvm.lower(s, args)` is the program after the schedule, `tvm.build(s, args)` a function that is not known. None: another call.
[[nodiscard]] auto function_of_schedules(eval::Evaluator& evaluator, const eval::Value& callee, const syntax::CallExpr& written, const eval::Arguments& arguments)
    -> std::optional<eval::Value>;
/// The errors of stages that wait for a later statement (translate.h), once no statement follows.
[[nodiscard]] auto unfinished(const ScheduleObject& schedule) -> Diagnostics;
/// The loop of an axis; none: the value is not an axis of these stages, or the axis has no loop now.
[[nodiscard]] auto loop_of(const Stages& stages, const eval::Value& value) -> std::optional<schedule::LoopRV>;

}  // namespace te
}  // namespace loopsmith::script
