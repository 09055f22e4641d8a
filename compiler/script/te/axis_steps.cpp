// Changing the axes of stages: see axis_steps.h.
#include "script/te/axis_steps.h"

#include <algorithm>

#include "frontend/lowerer.h"
#include "ir/ops.h"
#include "script/te/change.h"
#include "script/te/translate.h"

namespace loopsmith::script::te {
namespace {

// Moves the stages that are computed at an axis to the axis that takes its place.
void move_attached(Stages& stages, size_t from, size_t to) {
  for (Stage& other : stages.stages) {
    if (other.place == Stage::Place::At && other.at_axis == from) { other.at_axis = to; }
  }
}

auto name_of(const Stages& stages, size_t axis) -> std::string { return stages.axes[axis].iter.var->name.str(); }

}  // namespace

auto split_axis(Stages& stages, size_t axis, int64_t factor, bool is_by_parts, Origin call) -> std::pair<size_t, size_t> {
  const Axis parent = stages.axes[axis];
  Expr extent = parent.iter.dom.extent;
  Expr given = int_imm(factor, extent.dtype()), rest = frontend::simplified(floordiv(extent + int_imm(factor - 1, extent.dtype()), given));
  std::string name = name_of(stages, axis);
  size_t outer = stages.add_axis(make_axis(name + ".outer", is_by_parts ? given : rest, parent.iter.kind, call), parent.stage, parent.is_reduction);
  size_t inner = stages.add_axis(make_axis(name + ".inner", is_by_parts ? rest : given, parent.iter.kind, call), parent.stage, parent.is_reduction);
  Stage& stage = stages.stages[parent.stage];
  auto at = std::find(stage.leaves.begin(), stage.leaves.end(), axis);
  *at = outer;
  stage.leaves.insert(at + 1, inner);
  move_attached(stages, axis, inner);
  stage.steps.push_back({.kind = AxisStep::Kind::Split, .inputs = {axis}, .outputs = {outer, inner}, .factor = factor, .is_by_parts = is_by_parts, .primitive = {}, .values = {}, .call = call});
  return {outer, inner};
}

void reorder_axes(Stages& stages, size_t in, const std::vector<size_t>& axes, Origin call) {
  Stage& stage = stages.stages[in];
  std::vector<size_t> places;
  for (size_t axis : axes) { places.push_back(static_cast<size_t>(std::find(stage.leaves.begin(), stage.leaves.end(), axis) - stage.leaves.begin())); }
  std::sort(places.begin(), places.end());
  for (size_t k = 0; k < axes.size(); ++k) { stage.leaves[places[k]] = axes[k]; }
  stage.steps.push_back({.kind = AxisStep::Kind::Reorder, .inputs = axes, .outputs = {}, .factor = {}, .primitive = {}, .values = {}, .call = call});
}

auto fuse_axes(Stages& stages, const std::vector<size_t>& axes, Origin call) -> size_t {
  Expr extent = int_imm(1);
  bool is_reduction = false;
  std::string name;
  for (size_t axis : axes) {
    Expr more = stages.axes[axis].iter.dom.extent;
    extent = match_types(extent, more) ? frontend::simplified(extent * more) : more;
    is_reduction |= stages.axes[axis].is_reduction;
    name += name_of(stages, axis) + ".";
  }
  const size_t in = stages.axes[axes.front()].stage;
  size_t fused = stages.add_axis(make_axis(name + "fused", extent, is_reduction ? IterKind::Reduction : IterKind::Spatial, call), in, is_reduction);
  auto& now = stages.stages[in].leaves;
  auto at = std::find(now.begin(), now.end(), axes.front());
  *at = fused;
  now.erase(at + 1, at + static_cast<std::ptrdiff_t>(axes.size()));
  move_attached(stages, axes.back(), fused);
  stages.stages[in].steps.push_back({.kind = AxisStep::Kind::Fuse, .inputs = axes, .outputs = {fused}, .factor = {}, .primitive = {}, .values = {}, .call = call});
  return fused;
}

void mark_axis(Stages& stages, size_t axis, std::string primitive, std::vector<schedule::Value> values, Origin call) {
  stages.stages[stages.axes[axis].stage].steps.push_back(
      {.kind = AxisStep::Kind::Mark, .inputs = {axis}, .outputs = {}, .factor = {}, .primitive = std::move(primitive), .values = std::move(values), .call = call});
}

void tensorize_axis(Stages& stages, size_t axis, const expressions::DeclaredIntrinsic& intrinsic, Origin call) {
  std::vector<TensorizeStep>& steps = stages.stages[stages.axes[axis].stage].tensorized;
  std::erase_if(steps, [&](const TensorizeStep& one) { return one.axis == axis; });
  steps.push_back({axis, Ref<expressions::DeclaredIntrinsic>(&intrinsic), call});
}

void place_at(Stages& stages, size_t stage, size_t axis, Origin call) {
  Stage& own = stages.stages[stage];
  own.place = Stage::Place::At;
  own.at_axis = axis;
  own.placed = call;
}

auto reads(const Stages& stages, size_t reader, size_t stage) -> bool {
  std::vector<size_t> found{reader};
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t input : stages.stages[found[i]].inputs) {
      if (input == stage) { return true; }
      if (std::find(found.begin(), found.end(), input) == found.end()) { found.push_back(input); }
    }
  }
  return false;
}

auto try_change(const Stages& stages, const std::function<void(Stages&)>& make) -> Result<schedule::Schedule> {
  Stages changed = stages;
  make(changed);
  Refused refused;
  if (!translate(changed, refused)) { return reasons(refused, refused.call); }
  return translated(changed);
}

}  // namespace loopsmith::script::te
