// Changing stages: see change.h.
#include "script/te/change.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/objects.h"
#include "ir/ops.h"
#include "script/te/translate.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::te {
namespace {

auto names_of(const Stages& stages, const std::vector<size_t>& axes) -> std::string {
  std::string out;
  for (size_t axis : axes) { out += (out.empty() ? "`" : ", `") + stages.axes[axis].iter.var->name.str() + "`"; }
  return out;
}

// The intrinsic that computes a tile with the axis by the operation of the stage; null: the axis is outside of tiles.
auto intrinsic_of_tile(const Stages& stages, size_t axis) -> const expressions::DeclaredIntrinsic* {
  const Stage& stage = stages.stages[stages.axes[axis].stage];
  const auto* intrinsic = stage.op->intrinsic.as<expressions::DeclaredIntrinsic>();
  if (!intrinsic) { return nullptr; }
  const expressions::Operation& op = *stage.op;
  auto is_inner = [&](const std::vector<size_t>& axes, size_t outer) { return std::find(axes.begin() + static_cast<std::ptrdiff_t>(outer), axes.end(), axis) != axes.end(); };
  return is_inner(stage.axes, op.outer_axes) || is_inner(stage.reduce_axes, op.outer_reduce_axes) ? intrinsic : nullptr;
}

}  // namespace

auto refuse(eval::Evaluator& evaluator, const ScheduleObject& schedule, Origin call, std::string_view step, std::string_view stage, const Reason& why, std::string remedy)
    -> eval::Value {
  schedule.record.is_stage_refused = true;
  Diagnostic d = error(Code::StageRefused, call).arg("step", step).arg("stage", stage).arg("reason", why.text());
  if (!remedy.empty()) { (void)std::move(d).remedy(std::move(remedy)); }
  return evaluator.report(std::move(d));
}

auto reasons(const Refused& refused, Origin call) -> Diagnostics {
  Diagnostics out = refused.why;
  if (out.empty()) { out.push_back(error(Code::BadValue, call).arg("action", fmt::format("apply `{}`", refused.primitive)).arg("reason", because(Why::NoPlaceForStep).text()).remedy("take the step before the one that removes it")); }
  for (Diagnostic& d : out) {
    const bool is_earlier = refused.call.is_known() && (refused.call.begin != call.begin || refused.call.decl != call.decl);
    d.where = call;
    if (is_earlier) {
      (void)std::move(d).note(refused.call, fmt::format("this earlier step becomes `{}`, which the new step makes impossible", refused.primitive));
    } else {
      (void)std::move(d).note(call, fmt::format("the step becomes `{}`", refused.primitive));
    }
  }
  return out;
}

auto located(const ScheduleObject& schedule, Origin call) -> Origin {
  call.step = schedule.record.step;
  return call;
}

auto change(eval::Evaluator& evaluator, const ScheduleObject& schedule, Origin call, const std::function<void(Stages&)>& make) -> bool {
  if (!evaluator.may_go_on(call)) { return false; }
  auto stages = std::make_shared<Stages>(*schedule.stages);
  make(*stages);
  stages->latest = call;
  if (stages->is_at_once) {
    schedule.stages = std::move(stages);
    return true;
  }
  Refused refused;
  std::optional<uint64_t> ran = translate(*stages, refused);
  if (!ran) {
    schedule.record.is_stage_refused = true;
    for (Diagnostic& d : reasons(refused, call)) { evaluator.report(std::move(d)); }
    return false;
  }
  schedule.record.executed += *ran;
  schedule.schedule = translated(*stages);
  schedule.stages = std::move(stages);
  return true;
}

auto make_axis(std::string name, Expr extent, IterKind kind, Origin where) -> IterVar {
  IterVar iter;
  iter.dom = from_zero(extent);
  iter.kind = kind;
  iter.var = make<VarNode>(Name(name), extent.dtype(), where);
  iter.origin = where;
  return iter;
}

auto to_axis(eval::Evaluator& evaluator, const ScheduleObject& schedule, std::string_view step, size_t stage, const eval::Argument& argument) -> std::optional<size_t> {
  const Stages& stages = *schedule.stages;
  const auto* object = argument.value.as<frontend::IterVarObject>();
  std::string own = stages.stages[stage].name.str();
  if (argument.value.is_unknown()) { return std::nullopt; }
  if (!object) {
    schedule.record.is_stage_refused = true;
    evaluator.report(error(Code::ArgumentKind, argument.where).arg("wanted", "an axis of stage `" + own + "`").arg("what", eval::describe(argument.value)).remedy(fmt::format("give one of its axes, such as `s[{}].op.axis[0]`", own)));
    return std::nullopt;
  }
  std::string name = object->iter.var->name.str();
  auto axis = stages.axis_of(object->iter);
  const auto& leaves = stages.stages[stage].leaves;
  std::string remedy = leaves.empty() ? std::string("the stage has no loops") : "use one of its axes: " + names_of(stages, leaves);
  if (!axis || stages.axes[*axis].stage != stage) {
    Reason why = axis ? because(Why::AxisOfOtherStage).arg("axis", name).arg("stage", stages.stages[stages.axes[*axis].stage].name.view()) : because(Why::AxisOfNoStage).arg("axis", name);
    refuse(evaluator, schedule, argument.where, step, own, why, remedy);
    return std::nullopt;
  }
  if (const auto* intrinsic = intrinsic_of_tile(stages, *axis)) {
    refuse(evaluator, schedule, argument.where, step, own, because(Why::ComputedByIntrinsic).arg("intrinsic", intrinsic->name.view()), "use an axis around the tile");
    return std::nullopt;
  }
  if (!stages.is_leaf(*axis)) {
    refuse(evaluator, schedule, argument.where, step, own, because(Why::AxisReplaced).arg("axis", name), remedy);
    return std::nullopt;
  }
  return axis;
}

auto to_stages(eval::Evaluator& evaluator, const ScheduleObject& schedule, const eval::Argument& argument) -> std::optional<std::vector<size_t>> {
  std::vector<eval::Value> given{argument.value};
  if (const auto* items = argument.value.items()) { given = *items; }
  std::vector<size_t> out;
  for (const eval::Value& one : given) {
    const auto* tensor = one.as<expressions::TensorObject>();
    const auto* op = tensor ? tensor->op.get() : one.as<expressions::Operation>();
    if (one.is_unknown()) { return std::nullopt; }
    if (!op) {
      schedule.record.is_stage_refused = true;
      evaluator.report(error(Code::ArgumentKind, argument.where).arg("wanted", "a tensor or an operation").arg("what", eval::describe(one)));
      return std::nullopt;
    }
    auto stage = schedule.stages->stage_of(*op);
    if (!stage) {
      schedule.record.is_stage_refused = true;
      evaluator.report(error(Code::BadValue, argument.where).arg("action", fmt::format("schedule `{}`", op->name.view())).arg("reason", because(Why::NoStage).text())
                           .remedy("name an operation that reads it in `te.create_schedule`"));
      return std::nullopt;
    }
    out.push_back(*stage);
  }
  return out;
}

}  // namespace loopsmith::script::te
