// Stages as data: see stages.h.
#include "script/te/stages.h"

#include <algorithm>
#include <functional>

#include "script/te/translate.h"

namespace loopsmith::script::te {

auto Stages::consumers_first() const -> std::vector<size_t> {
  std::vector<size_t> order;
  std::vector<bool> seen(stages.size());
  std::function<void(size_t)> visit = [&](size_t stage) {
    if (seen[stage]) { return; }
    seen[stage] = true;
    for (size_t input : stages[stage].inputs) { visit(input); }
    order.push_back(stage);
  };
  for (size_t stage = 0; stage < stages.size(); ++stage) { visit(stage); }
  std::reverse(order.begin(), order.end());
  return order;
}

auto Stages::consumers_of(size_t stage) const -> std::vector<size_t> {
  std::vector<size_t> out;
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto& inputs = stages[i].inputs;
    if (std::find(inputs.begin(), inputs.end(), stage) != inputs.end()) { out.push_back(i); }
  }
  return out;
}

auto Stages::stage_of(const BufferNode* tensor) const -> std::optional<size_t> {
  for (size_t i = 0; i < stages.size(); ++i) {
    if (std::any_of(stages[i].tensors.begin(), stages[i].tensors.end(), [&](const Buffer& one) { return one.get() == tensor; })) { return i; }
  }
  return std::nullopt;
}

namespace {

// The only item of a list that fits; none: no item fits, or several do.
template <class T, class F>
auto only_one(const std::vector<T>& items, F&& fits) -> std::optional<size_t> {
  auto found = std::find_if(items.begin(), items.end(), fits);
  if (found == items.end() || std::find_if(found + 1, items.end(), fits) != items.end()) { return std::nullopt; }
  return static_cast<size_t>(found - items.begin());
}

}  // namespace

auto Stages::stage_of(const expressions::Operation& op) const -> std::optional<size_t> {
  if (auto found = stage_of(op.outputs[0].get())) { return found; }
  return only_one(stages, [&](const Stage& s) { return s.op->name == op.name && s.op->where == op.where && op.where.is_known(); });
}

auto Stages::axis_of(const IterVar& iter) const -> std::optional<size_t> {
  if (auto found = only_one(axes, [&](const Axis& a) { return a.iter.var == iter.var; })) { return found; }
  return only_one(axes, [&](const Axis& a) { return a.iter.var->name == iter.var->name && a.iter.origin == iter.origin && iter.origin.is_known(); });
}

auto Stages::is_leaf(size_t axis) const -> bool {
  const auto& leaves = stages[axes[axis].stage].leaves;
  return std::find(leaves.begin(), leaves.end(), axis) != leaves.end();
}

namespace {

// A stage whose function calls a tensor intrinsic: the intrinsic computes the axes of a tile, which stand inside all others.
void compute_tiles(Stage& stage) {
  const expressions::Operation& op = *stage.op;
  const auto* intrinsic = op.intrinsic.as<expressions::DeclaredIntrinsic>();
  if (!intrinsic || stage.blocks.empty()) { return; }
  std::vector<size_t> order(stage.axes.begin(), stage.axes.begin() + static_cast<std::ptrdiff_t>(op.outer_axes));
  order.insert(order.end(), stage.reduce_axes.begin(), stage.reduce_axes.begin() + static_cast<std::ptrdiff_t>(op.outer_reduce_axes));
  order.insert(order.end(), stage.axes.begin() + static_cast<std::ptrdiff_t>(op.outer_axes), stage.axes.end());
  order.insert(order.end(), stage.reduce_axes.begin() + static_cast<std::ptrdiff_t>(op.outer_reduce_axes), stage.reduce_axes.end());
  if (order != stage.leaves) {
    stage.steps.push_back({.kind = AxisStep::Kind::Reorder, .inputs = order, .outputs = {}, .factor = {}, .primitive = {}, .values = {}, .call = op.where});
    stage.leaves = std::move(order);
  }
  stage.tensorized.push_back({stage.axes[op.outer_axes], Ref<expressions::DeclaredIntrinsic>(intrinsic), op.where});
}

}  // namespace

auto make_stages(const expressions::ScheduledProgram& program, const std::vector<Ref<expressions::Operation>>& outputs, schedule::Schedule base) -> Stages {
  Stages out(std::move(base));
  out.parameters = program.parameters;
  for (const expressions::MadeOperation& made : program.operations) {
    Stage stage;
    stage.name = made.op->name;
    stage.op = made.op;
    stage.tensors = made.op->outputs;
    stage.blocks = made.blocks;
    stage.is_placeholder = made.op->kind == expressions::Operation::Kind::Placeholder;
    stage.is_output = std::any_of(outputs.begin(), outputs.end(), [&](const auto& one) { return one == made.op; });
    for (const Ref<expressions::Operation>& input : made.op->inputs) {
      if (auto found = out.stage_of(input->outputs[0].get())) { stage.inputs.push_back(*found); }
    }
    size_t number = out.stages.size();
    auto add = [&](const std::vector<IterVar>& of, bool is_reduction, std::vector<size_t>& to) {
      for (const IterVar& iter : of) { to.push_back(out.add_axis(iter, number, is_reduction)); }
    };
    add(made.op->axis, false, stage.axes);
    add(made.op->reduce_axis, true, stage.reduce_axes);
    stage.leaves = stage.axes;
    stage.leaves.insert(stage.leaves.end(), stage.reduce_axes.begin(), stage.reduce_axes.end());
    stage.nest = stage.leaves;
    compute_tiles(stage);
    out.stages.push_back(std::move(stage));
  }
  return out;
}

}  // namespace loopsmith::script::te
