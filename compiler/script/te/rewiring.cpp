// `s.cache_read`, `s.cache_write`, `s.rfactor`: steps that add a stage.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "frontend/objects.h"
#include "ir/ops.h"
#include "script/te/change.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::te {
namespace {

using eval::Arguments;
using eval::BoundArguments;
using eval::Evaluator;
using expressions::Operation;

auto schedule_of(const eval::Value& self) -> const ScheduleObject& { return *self.as<ScheduleObject>(); }

// The value of a call whose arguments do not fit: reported, or not known.
auto failed(const ScheduleObject& schedule, const eval::Value& unknown) -> eval::Value {
  if (unknown.is_opaque()) { schedule.record.is_unknown = true; } else { schedule.record.is_stage_refused = true; }
  return unknown;
}

auto make_operation(Name name, const std::vector<Buffer>& like, const std::vector<Expr>& shape, Origin where) -> Ref<Operation> {
  std::vector<Buffer> outputs;
  for (const Buffer& one : like) { outputs.push_back(make_buffer(like.size() == 1 ? name : one->name, one->dtype, shape, "global", where)); }
  return eval::make_object<Operation>(Operation::Kind::Compute, name, std::move(outputs), where);
}
auto iters_of(const Stages& stages, const std::vector<size_t>& axes) -> std::vector<IterVar> {
  std::vector<IterVar> out;
  for (size_t axis : axes) { out.push_back(stages.axes[axis].iter); }
  return out;
}
// Renews the operation of a stage after its axes have changed: a tensor of the script keeps the operation that it was made of.
void renew_operation(Stages& stages, size_t i) {
  Stage& stage = stages.stages[i];
  std::vector<Buffer> outputs = stage.op->outputs;
  std::vector<Expr> shape(outputs[0]->shape.begin(), outputs[0]->shape.end());
  stage.op = make_operation(stage.name, outputs, shape, stage.op->where);
  const_cast<Operation&>(*stage.op).axis = iters_of(stages, stage.axes);
  const_cast<Operation&>(*stage.op).reduce_axis = iters_of(stages, stage.reduce_axes);
  // The tensor of the new operation stands for the stage too.
  for (const Buffer& one : stage.op->outputs) { stage.tensors.push_back(one); }
}

// A stage with the axes of a copy: one for each dimension.
auto copy_stage(Stages& stages, const Stage& of, const Buffer& tensor, const std::string& scope, const std::vector<std::string>& names, Origin where) -> size_t {
  size_t number = stages.stages.size();
  Stage made;
  made.name = Name(of.name.str() + "." + scope);
  made.made_by = stages.rewirings.size();
  std::vector<Expr> shape(tensor->shape.begin(), tensor->shape.end());
  made.op = make_operation(made.name, {tensor}, shape, where);
  made.tensors = made.op->outputs;
  for (size_t k = 0; k < shape.size(); ++k) { made.axes.push_back(stages.add_axis(make_axis(names[k], shape[k], IterKind::Spatial, where), number, false)); }
  const_cast<Operation&>(*made.op).axis = iters_of(stages, made.axes);
  made.leaves = made.nest = made.axes;
  stages.stages.push_back(std::move(made));
  return number;
}

auto tensor_value(const Stages& stages, size_t stage) -> eval::Value { return expressions::tensors_of(stages.stages[stage].op); }

}  // namespace

auto cache_read(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  const ScheduleObject& schedule = schedule_of(self);
  BoundArguments b;
  if (!eval::bind_arguments(e, "cache_read", a, {{"tensor"}, {"scope"}, {"readers"}}, b)) { return failed(schedule, b.unknown); }
  auto stage = to_stages(e, schedule, b.values[0]);
  auto readers = stage ? to_stages(e, schedule, b.values[2]) : std::nullopt;
  if (!readers) { return failed(schedule, b.values[0].value.is_opaque() || b.values[2].value.is_opaque() ? eval::Value::opaque() : eval::Value::error()); }
  const Stage& of = schedule.stages->stages[stage->front()];
  const std::string* scope = b.values[1].value.string();
  if (!scope || stage->size() != 1 || readers->empty()) { return refuse(e, schedule, a.call, "cache_read", of.name.view(), because(Why::CacheReadArguments)); }
  const auto* tensor = b.values[0].value.as<expressions::TensorObject>();
  size_t output = tensor ? tensor->index : 0;
  for (size_t reader : *readers) {
    const Stage& one = schedule.stages->stages[reader];
    if (std::find(one.inputs.begin(), one.inputs.end(), stage->front()) == one.inputs.end()) {
      return refuse(e, schedule, a.call, "cache_read", of.name.view(), because(Why::StageDoesNotRead).arg("stage", one.name.view()), "name the stages that read it now: `cache_write` moves the reading to the stage that it adds");
    }
  }
  size_t made = 0;
  bool is_done = change(e, schedule, a.call, [&](Stages& s) {
    std::vector<std::string> names;
    Buffer like = tensor ? tensor->buffer() : s.stages[stage->front()].tensors[0];
    for (size_t k = 0; k < like->shape.size(); ++k) { names.push_back("ax" + std::to_string(k)); }
    made = copy_stage(s, s.stages[stage->front()], like, *scope, names, a.call);
    s.stages[made].inputs = {stage->front()};
    for (size_t reader : *readers) { std::replace(s.stages[reader].inputs.begin(), s.stages[reader].inputs.end(), stage->front(), made); }
    Rewiring r;
    r.kind = Rewiring::Kind::CacheRead;
    r.stage = stage->front();
    r.made = made;
    r.scope = *scope;
    r.readers = *readers;
    r.output = output;
    r.call = located(schedule, a.call);
    s.rewirings.push_back(std::move(r));
  });
  return is_done ? tensor_value(*schedule.stages, made) : eval::Value::error();
}

auto cache_write(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  const ScheduleObject& schedule = schedule_of(self);
  BoundArguments b;
  if (!eval::bind_arguments(e, "cache_write", a, {{"tensor"}, {"scope"}}, b)) { return failed(schedule, b.unknown); }
  auto stage = to_stages(e, schedule, b.values[0]);
  if (!stage || stage->empty()) { return failed(schedule, b.values[0].value.is_opaque() ? eval::Value::opaque() : eval::Value::error()); }
  size_t number = stage->front();
  const Stage& of = schedule.stages->stages[number];
  const std::string* scope = b.values[1].value.string();
  auto no = [&](const Reason& why, std::string remedy = {}) { return refuse(e, schedule, a.call, "cache_write", of.name.view(), why, std::move(remedy)); };
  if (!scope) { return no(because(Why::ArgumentNoString).arg("argument", "scope"), "give a storage scope, such as `\"shared\"`"); }
  if (of.is_placeholder) { return no(because(Why::Input), "use `cache_read`"); }
  if (of.op->outputs.size() != 1 || stage->size() != 1 || (of.blocks.size() != 1 && !of.made_by)) { return no(because(Why::SeveralOutputs)); }
  if (const auto* intrinsic = of.op->intrinsic.as<expressions::DeclaredIntrinsic>()) { return no(because(Why::ComputedByIntrinsic).arg("intrinsic", intrinsic->name.view()), "cache a tensor that it reads: `cache_read`"); }
  if (!of.steps.empty()) { return no(because(Why::LoopsChanged), "call `cache_write` before the other steps of the stage"); }
  size_t made = 0;
  bool is_done = change(e, schedule, a.call, [&](Stages& s) {
    std::vector<std::string> names;
    for (size_t axis : s.stages[number].axes) { names.push_back(s.axes[axis].iter.var->name.str() + ".c"); }
    made = copy_stage(s, s.stages[number], s.stages[number].tensors[0], *scope, names, a.call);
    Stage& cache = s.stages[made];
    Stage& copy = s.stages[number];
    // The reduction, and the tensors that are read, go over to the new stage.
    cache.reduce_axes = std::exchange(copy.reduce_axes, {});
    for (size_t axis : cache.reduce_axes) { s.axes[axis].stage = made; }
    cache.leaves.insert(cache.leaves.end(), cache.reduce_axes.begin(), cache.reduce_axes.end());
    cache.nest = cache.leaves;
    const_cast<Operation&>(*cache.op).reduce_axis = iters_of(s, cache.reduce_axes);
    copy.leaves = copy.nest = copy.axes;
    cache.inputs = std::exchange(copy.inputs, {made});
    renew_operation(s, number);
    Rewiring r;
    r.kind = Rewiring::Kind::CacheWrite;
    r.stage = number;
    r.made = made;
    r.scope = *scope;
    r.call = located(schedule, a.call);
    s.rewirings.push_back(std::move(r));
  });
  return is_done ? tensor_value(*schedule.stages, made) : eval::Value::error();
}

namespace {

// The stage of partial results, and the rest of the stage that had the reduction.
auto factor_stage(Stages& s, size_t number, size_t axis, int64_t factor_axis, Origin where) -> size_t {
  size_t made = s.stages.size();
  Rewiring r;
  r.kind = Rewiring::Kind::RFactor;
  r.stage = number;
  r.made = made;
  r.steps = s.stages[number].steps;
  r.nest = s.stages[number].nest;
  r.leaves = s.stages[number].leaves;
  r.axis = axis;
  r.factor_axis = factor_axis;
  r.call = where;
  Stage partial;
  partial.name = Name(s.stages[number].name.str() + ".rf");
  partial.made_by = s.rewirings.size();
  std::vector<size_t> joined;
  // The loops of both are those that the reduction had, in their order.
  size_t factored = 0, kept = 0;
  for (size_t leaf : r.leaves) {
    IterVar iter = make_axis(s.axes[leaf].iter.var->name.str(), s.axes[leaf].iter.dom.extent, leaf == axis || !s.axes[leaf].is_reduction ? IterKind::Spatial : IterKind::Reduction, where);
    size_t own = s.add_axis(iter, made, iter.kind == IterKind::Reduction);
    partial.nest.push_back(own);
    if (iter.kind == IterKind::Reduction) { partial.reduce_axes.push_back(own); continue; }
    if (leaf == axis) {
      factored = own;
      kept = s.add_axis(make_axis(iter.var->name.str() + ".v", iter.dom.extent, IterKind::Reduction, where), number, true);
    } else {
      partial.axes.push_back(own);
    }
    joined.push_back(leaf == axis ? kept : leaf);
  }
  partial.axes.insert(partial.axes.begin() + static_cast<std::ptrdiff_t>(factor_axis), factored);
  partial.leaves = partial.axes;
  partial.leaves.insert(partial.leaves.end(), partial.reduce_axes.begin(), partial.reduce_axes.end());
  std::vector<Expr> shape;
  for (size_t one : partial.axes) { shape.push_back(s.axes[one].iter.dom.extent); }
  Stage& own = s.stages[number];
  std::vector<Buffer> outputs(own.tensors.begin(), own.tensors.begin() + static_cast<std::ptrdiff_t>(own.op->outputs.size()));
  partial.op = make_operation(partial.name, outputs, shape, where);
  const_cast<Operation&>(*partial.op).axis = iters_of(s, partial.axes);
  const_cast<Operation&>(*partial.op).reduce_axis = iters_of(s, partial.reduce_axes);
  partial.tensors = partial.op->outputs;
  partial.inputs = std::exchange(own.inputs, {made});
  own.steps.clear();
  own.reduce_axes = {kept};
  own.leaves = own.axes;
  own.leaves.push_back(kept);
  own.nest = joined;
  renew_operation(s, number);
  s.rewirings.push_back(std::move(r));
  s.stages.push_back(std::move(partial));
  return made;
}

}  // namespace

auto rfactor(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  const ScheduleObject& schedule = schedule_of(self);
  BoundArguments b;
  if (!eval::bind_arguments(e, "rfactor", a, {{"tensor"}, {"axis"}, {"factor_axis", false}}, b)) { return failed(schedule, b.unknown); }
  auto stage = to_stages(e, schedule, b.values[0]);
  if (!stage || stage->empty()) { return failed(schedule, b.values[0].value.is_opaque() ? eval::Value::opaque() : eval::Value::error()); }
  size_t number = stage->front();
  auto axis = to_axis(e, schedule, "rfactor", number, b.values[1]);
  if (!axis) { return failed(schedule, b.values[1].value.is_opaque() ? eval::Value::opaque() : eval::Value::error()); }
  const Stages& stages = *schedule.stages;
  const Stage& of = stages.stages[number];
  auto no = [&](const Reason& why, std::string remedy = {}) { return refuse(e, schedule, a.call, "rfactor", of.name.view(), why, std::move(remedy)); };
  if (!stages.axes[*axis].is_reduction) { return no(because(Why::AxisSpatial).arg("axis", stages.axes[*axis].iter.var->name.view()), "give an axis of the reduction, or a part of one"); }
  if (const auto* intrinsic = of.op->intrinsic.as<expressions::DeclaredIntrinsic>()) { return no(because(Why::ComputedByIntrinsic).arg("intrinsic", intrinsic->name.view()), "remove `rfactor`"); }
  auto is_of_reduction = [&](const AxisStep& one) {
    bool is_loop_step = one.kind == AxisStep::Kind::Split || one.kind == AxisStep::Kind::Fuse || one.kind == AxisStep::Kind::Reorder;
    return is_loop_step && std::all_of(one.inputs.begin(), one.inputs.end(), [&](size_t input) { return stages.axes[input].is_reduction; });
  };
  if (!std::all_of(of.steps.begin(), of.steps.end(), is_of_reduction)) { return no(because(Why::AxesChanged), "call `rfactor` before those steps"); }
  int64_t factor_axis = b.given[2] ? b.values[2].value.to_int().value_or(-1) : 0;
  if (factor_axis < 0 || factor_axis > static_cast<int64_t>(of.axes.size())) { return no(because(Why::FactorAxisRange).arg("high", of.axes.size())); }
  size_t made = 0;
  if (!change(e, schedule, a.call, [&](Stages& s) { made = factor_stage(s, number, *axis, factor_axis, located(schedule, a.call)); })) { return eval::Value::error(); }
  return tensor_value(*schedule.stages, made);
}

}  // namespace loopsmith::script::te
