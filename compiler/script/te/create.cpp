// Making schedules of tensor expressions: see create.h.
#include "script/te/create.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/objects.h"
#include "ir/visitor.h"
#include "script/te/change.h"
#include "script/te/stages.h"
#include "script/te/translate.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "syntax/schedule_form.h"

namespace loopsmith::script {

auto made_of(eval::Evaluator& evaluator, const eval::Value& value, const syntax::CallExpr& call) -> Made {
  if (const auto* program = value.as<frontend::ProgramObject>()) { return {program->module, nullptr}; }
  if (!syntax::makes_stages(call)) { return {}; }
  std::vector<eval::Value> given{value};
  if (const auto* items = value.items()) { given = *items; }
  std::vector<Ref<te::expressions::Operation>> outputs;
  for (const eval::Value& one : given) {
    const auto* tensor = one.as<te::expressions::TensorObject>();
    const auto* op = tensor ? tensor->op.get() : one.as<te::expressions::Operation>();
    if (!op) { return {}; }
    outputs.emplace_back(op);
  }
  auto program = outputs.empty() ? std::nullopt : te::expressions::scheduled_program(evaluator, outputs, call.origin());
  if (!program) { return {}; }
  auto stages = std::make_shared<const te::Stages>(te::make_stages(*program, outputs, schedule::Schedule(program->module, 1)));
  return {program->module, std::move(stages)};
}

namespace te {

void add_stages(const ScheduleObject& schedule, const Made& made, bool is_at_once) {
  if (!made.stages) { return; }
  auto stages = std::make_shared<Stages>(*made.stages);
  stages->base = schedule.schedule;
  Refused refused;
  // Nothing is refused of a program without steps.
  if (!translate(*stages, refused)) { stages->done.clear(); }
  stages->is_at_once = is_at_once;
  schedule.schedule = translated(*stages);
  schedule.stages = std::move(stages);
}

auto finish(const ScheduleObject& schedule) -> Diagnostics {
  if (!schedule.stages->is_at_once && !has_waiting(*schedule.stages)) { return {}; }
  auto stages = std::make_shared<Stages>(*schedule.stages);
  Refused refused;
  if (!translate(*stages, refused, true)) { return reasons(refused, refused.call); }
  schedule.schedule = translated(*stages);
  schedule.stages = std::move(stages);
  return {};
}

auto unfinished(const ScheduleObject& schedule) -> Diagnostics {
  if (!schedule.stages || !has_waiting(*schedule.stages)) { return {}; }
  Stages whole = *schedule.stages;
  Refused refused;
  return translate(whole, refused, true) ? Diagnostics{} : reasons(refused, refused.call);
}

auto loop_of(const Stages& stages, const eval::Value& value) -> std::optional<schedule::LoopRV> {
  const auto* object = value.as<frontend::IterVarObject>();
  auto axis = object ? stages.axis_of(object->iter) : std::nullopt;
  return axis ? loop_of(stages, *axis) : std::nullopt;
}

namespace {

// The arguments of `tvm.lower` are tensors of the schedule. False: an argument is no tensor of the schedule, and the error is reported.
auto are_parameters(eval::Evaluator& evaluator, const ScheduleObject& schedule, const eval::Argument& list) -> bool {
  const auto* items = list.value.items();
  if (!items) { return true; }
  for (const eval::Value& item : *items) {
    const auto* tensor = item.as<expressions::TensorObject>();
    if (!tensor) { continue; }
    auto stage = schedule.stages->stage_of(*tensor->op);
    // TVM passes a tensor between the stages out as well; here it stays inside.
    if (stage) { continue; }
    schedule.record.is_stage_refused = true;
    evaluator.report(error(Code::BadValue, list.where).arg("action", "make a program of these tensors").arg("reason", because(Why::NoTensorOfSchedule).arg("tensor", tensor->op->name.view()).text())
                         .remedy(fmt::format("name its operation in `te.create_schedule` as an output")));
    return false;
  }
  return true;
}

// True where each element of a stage reads, of each tensor, the element at its own place.
auto is_elementwise(const Stages& stages, const Stage& stage) -> bool {
  bool out = true;
  for (const Expr& value : stage.op->body) {
    post_order(value, [&](const Expr& x) {
      const auto* load = x.as<BufferLoad>();
      if (!load) { return; }
      out = out && load->indices.size() == stage.axes.size();
      for (size_t k = 0; out && k < stage.axes.size(); ++k) { out = load->indices[k].get() == stages.axes[stage.axes[k]].iter.var.get(); }
    });
  }
  return out;
}

// `te.schedule.AutoInlineInjective(s)`: computes inline every stage without a reduction that is no output and has no steps. `AutoInlineElemWise(s)`: only those that
// read elements at their own place.
auto inline_all(eval::Evaluator& evaluator, const ScheduleObject& schedule, Origin call, bool only_elementwise) -> eval::Value {
  const bool is_done = change(evaluator, schedule, call, [&](Stages& stages) {
    for (size_t i = 0; i < stages.stages.size(); ++i) {
      Stage& stage = stages.stages[i];
      const bool is_plain = stage.op->kind == expressions::Operation::Kind::Compute && stage.blocks.size() == 1 && !stage.made_by && stage.reduce_axes.empty();
      const bool is_free = !stage.is_output && stage.steps.empty() && stage.block_steps.empty() && stage.place == Stage::Place::Root;
      const bool is_attached = std::any_of(stages.stages.begin(), stages.stages.end(), [&](const Stage& other) { return other.place == Stage::Place::At && stages.axes[other.at_axis].stage == i; });
      if (!is_plain || !is_free || is_attached || (only_elementwise && !is_elementwise(stages, stage))) { continue; }
      stage.place = Stage::Place::Inline;
      stage.placed = located(schedule, call);
    }
  });
  return is_done ? eval::Value() : eval::Value::error();
}

}  // namespace

auto function_of_schedules(eval::Evaluator& evaluator, const eval::Value& callee, const syntax::CallExpr& written, const eval::Arguments& arguments)
    -> std::optional<eval::Value> {
  const auto* attribute = written.callee->as<syntax::AttributeExpr>();
  const auto* plain = written.callee->as<syntax::NameExpr>();
  Name name = attribute ? attribute->attr.name : plain ? plain->name : Name();
  static const Name lower("lower"), build("build"), injective("AutoInlineInjective"), elementwise("AutoInlineElemWise");
  const auto* inlined = callee.is_opaque() && arguments.positional == 1 && (name == injective || name == elementwise) ? arguments.all[0].value.as<ScheduleObject>() : nullptr;
  if (inlined && inlined->stages) { return inline_all(evaluator, *inlined, arguments.call, name == elementwise); }
  if (!callee.is_opaque() || arguments.positional == 0 || (!(name == lower) && !(name == build))) { return std::nullopt; }
  const auto* schedule = arguments.all[0].value.as<ScheduleObject>();
  if (!schedule || !schedule->stages) { return std::nullopt; }
  if (arguments.positional > 1 && !are_parameters(evaluator, *schedule, arguments.all[1])) { return eval::Value::error(); }
  if (name == build) { return eval::Value::opaque(); }
  return eval::Value(eval::make_object<frontend::ProgramObject>(schedule->schedule.module(), Name("main"), true, arguments.call));
}

}  // namespace te
}  // namespace loopsmith::script
