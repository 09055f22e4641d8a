// States: see state.h.
#include "script/auto_scheduler/state.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/ops.h"
#include "support/reasons.h"

namespace loopsmith::script::auto_scheduler {
namespace {

using frontend::te::Operation;

auto extent_of(const IterVar& iter) -> int64_t { return as_int(iter.dom.extent).value_or(0); }

}  // namespace

auto text_of(const Step& step) -> std::string {
  std::string out = step.kind;
  for (const auto& argument : step.arguments) {
    if (const auto* n = std::get_if<int64_t>(&argument)) { out += fmt::format(" {}", *n); }
    if (const auto* text = std::get_if<std::string>(&argument)) { out += " " + *text; }
    if (const auto* list = std::get_if<std::vector<int64_t>>(&argument)) { out += fmt::format(" [{}]", fmt::join(*list, ", ")); }
  }
  return out;
}

auto number_of(const Step& step, size_t argument) -> int64_t {
  const auto* found = argument < step.arguments.size() ? std::get_if<int64_t>(&step.arguments[argument]) : nullptr;
  return found ? *found : 0;
}

auto list_of(const Step& step, size_t argument) -> const std::vector<int64_t>& {
  static const std::vector<int64_t> none;
  const auto* found = argument < step.arguments.size() ? std::get_if<std::vector<int64_t>>(&step.arguments[argument]) : nullptr;
  return found ? *found : none;
}

auto StateStage::has_reduction() const -> bool {
  return std::any_of(axes.begin(), axes.end(), [](const StateAxis& axis) { return axis.is_reduction; });
}

// TVM visits operations from the tensors of the task, the last one first, and numbers them in that order. Then it takes operations whose inputs are taken, always the one
// with the largest number.
auto numbered_stages(const te::Stages& stages, const std::vector<eval::Value>& tensors) -> std::vector<size_t> {
  const size_t count = stages.stages.size();
  std::vector<size_t> visited_at(count, SIZE_MAX), open_inputs(count, 0), stack, out;
  std::vector<std::vector<size_t>> readers(count);
  for (const eval::Value& value : tensors) {
    const auto* tensor = value.as<frontend::te::TensorObject>();
    auto stage = tensor ? stages.stage_of(*tensor->op) : std::nullopt;
    if (stage) { stack.push_back(*stage); }
  }
  for (size_t number = 0; !stack.empty();) {
    const size_t stage = stack.back();
    stack.pop_back();
    if (visited_at[stage] != SIZE_MAX) { continue; }
    visited_at[stage] = number++;
    for (size_t input : stages.stages[stage].inputs) {
      readers[input].push_back(stage);
      ++open_inputs[stage];
      stack.push_back(input);
    }
  }
  std::priority_queue<std::pair<size_t, size_t>> ready;
  for (size_t i = 0; i < count; ++i) {
    if (visited_at[i] != SIZE_MAX && open_inputs[i] == 0) { ready.push({visited_at[i], i}); }
  }
  while (!ready.empty()) {
    const size_t stage = ready.top().second;
    ready.pop();
    out.push_back(stage);
    for (size_t reader : readers[stage]) {
      if (--open_inputs[reader] == 0) { ready.push({visited_at[reader], reader}); }
    }
  }
  return out;
}

State::State(const te::Stages& stages, const std::vector<eval::Value>& tensors) {
  const std::vector<size_t> order = numbered_stages(stages, tensors);
  std::vector<size_t> number(stages.stages.size(), SIZE_MAX);
  for (size_t i = 0; i < order.size(); ++i) { number[order[i]] = i; }
  for (size_t place : order) {
    const te::Stage& from = stages.stages[place];
    StateStage stage;
    stage.name = from.name.str();
    stage.op = from.op;
    stage.is_placeholder = from.is_placeholder;
    stage.is_compute = from.op->kind == Operation::Kind::Compute;
    stage.is_output = from.is_output;
    for (size_t axis : from.leaves) {
      const te::Axis& one = stages.axes[axis];
      stage.axes.push_back(new_axis(one.iter.var->name.str(), extent_of(one.iter), one.is_reduction));
    }
    stage.written_axes = stage.axes.size();
    for (size_t input : from.inputs) {
      if (number[input] != SIZE_MAX) { stage.inputs.push_back(number[input]); }
    }
    stages_.push_back(std::move(stage));
  }
}

auto State::new_axis(std::string name, int64_t extent, bool is_reduction) -> StateAxis {
  return {.name = std::move(name), .extent = extent, .is_reduction = is_reduction, .annotation = Annotation::None, .id = next_axis_++};
}

void State::set_extents(const std::vector<std::vector<int64_t>>& extents) {
  for (size_t i = 0; i < std::min(extents.size(), stages_.size()); ++i) {
    for (size_t k = 0; k < std::min(extents[i].size(), stages_[i].axes.size()); ++k) {
      if (extents[i][k] > 0) { stages_[i].axes[k].extent = extents[i][k]; }
    }
  }
}

auto State::attached_at(size_t stage, size_t axis) const -> std::vector<size_t> {
  std::vector<size_t> out;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const StateStage& one = stages_[i];
    if (one.place == StateStage::Place::At && one.at_stage == stage && one.at_axis == stages_[stage].axes[axis].id) { out.push_back(i); }
  }
  return out;
}

auto State::has_attached(size_t stage) const -> bool {
  return std::any_of(stages_.begin(), stages_.end(), [&](const StateStage& one) { return one.place == StateStage::Place::At && one.at_stage == stage; });
}

auto State::consumers_of(size_t stage) const -> std::vector<size_t> {
  std::vector<size_t> out;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const StateStage& one = stages_[i];
    if (std::find(one.inputs.begin(), one.inputs.end(), stage) == one.inputs.end()) { continue; }
    const std::vector<size_t> found = one.place == StateStage::Place::Inline ? consumers_of(i) : std::vector<size_t>{i};
    for (size_t reader : found) {
      if (std::find(out.begin(), out.end(), reader) == out.end()) { out.push_back(reader); }
    }
  }
  return out;
}

// ---- steps -----------------------------------------------------------------------------------------------------------

auto followed_lengths(const std::vector<Step>& steps, const Step& step) -> std::optional<std::vector<int64_t>> {
  auto lengths_of = [&](int64_t source) -> const std::vector<int64_t>* {
    const bool is_earlier = source >= 0 && source < static_cast<int64_t>(steps.size()) && steps[static_cast<size_t>(source)].kind == "SP";
    return is_earlier ? &list_of(steps[static_cast<size_t>(source)], 3) : nullptr;
  };
  if (step.kind == "FSP") {
    const auto* of = lengths_of(number_of(step, 2));
    const int64_t count = number_of(step, 3);
    if (!of || count < 1 || count > static_cast<int64_t>(of->size())) { return std::nullopt; }
    std::vector<int64_t> out(of->begin(), of->begin() + (count - 1));
    int64_t rest = 1;
    for (size_t i = out.size(); i < of->size(); ++i) { rest *= (*of)[i]; }
    out.push_back(rest);
    return out;
  }
  int64_t length = 1;
  const int64_t level = number_of(step, 3);
  for (int64_t source : list_of(step, 2)) {
    const auto* of = lengths_of(source);
    if (!of || level < 0 || level >= static_cast<int64_t>(of->size())) { return std::nullopt; }
    length *= (*of)[static_cast<size_t>(level)];
  }
  return std::vector<int64_t>{length};
}

auto State::apply(Step step) -> std::string {
  const int64_t number = number_of(step, 0);
  if (number < 0 || number >= static_cast<int64_t>(stages_.size())) { return because(Why::NoStageNumber).arg("number", number).arg("count", stages_.size()).text(); }
  const auto stage = static_cast<size_t>(number);
  auto scope = [&] { const auto* found = step.arguments.size() > 1 ? std::get_if<std::string>(&step.arguments[1]) : nullptr; return found ? *found : std::string(); };
  std::string why;
  if (step.kind == "RE") { why = reorder(stage, list_of(step, 1)); }
  else if (step.kind == "FU") { why = fuse(stage, list_of(step, 1)); }
  else if (step.kind == "CA") { why = compute_at(stage, number_of(step, 1), number_of(step, 2)); }
  else if (step.kind == "CI" || step.kind == "CR") { stages_[stage].place = step.kind == "CI" ? StateStage::Place::Inline : StateStage::Place::Root; }
  else if (step.kind == "CHR") { why = cache_read(stage, scope(), list_of(step, 2)); }
  else if (step.kind == "CHW") { why = cache_write(stage, scope()); }
  else { why = apply_to_axis(step, stage); }
  if (why.empty()) { steps_.push_back(std::move(step)); }
  return why;
}

auto State::apply_to_axis(const Step& step, size_t stage) -> std::string {
  const int64_t number = number_of(step, 1);
  auto& axes = stages_[stage].axes;
  if (number < 0 || number >= static_cast<int64_t>(axes.size())) { return because(Why::NoAxisNumber).arg("stage", stages_[stage].name).arg("number", number).arg("count", axes.size()).text(); }
  const auto axis = static_cast<size_t>(number);
  if (step.kind == "AN") { axes[axis].annotation = static_cast<Annotation>(number_of(step, 2)); return {}; }
  if (step.kind == "PR" || step.kind == "SA") { return {}; }
  if (step.kind == "RF") { return rfactor(stage, axis, number_of(step, 2)); }
  if (step.kind == "SP") { return split(stage, axis, list_of(step, 3), number_of(step, 4) != 0); }
  if (step.kind == "FSP" || step.kind == "FFSP") {
    auto lengths = followed_lengths(steps_, step);
    if (!lengths) { return because(Why::FollowsNoSplit).text(); }
    return split(stage, axis, *lengths, step.kind == "FSP" || number_of(step, 4) != 0);
  }
  return because(Why::NoStepOfKind).text();
}

// The outermost axis of a split from inside, and the innermost one of a split from outside, take the rest.
auto State::split(size_t stage, size_t axis, const std::vector<int64_t>& lengths, bool is_inner_first) -> std::string {
  const StateAxis from = stages_[stage].axes[axis];
  int64_t known = 1;
  for (int64_t length : lengths) { known *= length; }
  const int64_t rest = known > 0 && from.extent > 0 ? (from.extent + known - 1) / known : 0;
  std::vector<StateAxis> made;
  for (size_t i = 0; i <= lengths.size(); ++i) {
    const bool is_rest = is_inner_first ? i == 0 : i == lengths.size();
    made.push_back(new_axis(fmt::format("{}.{}", from.name, i), is_rest ? rest : lengths[is_inner_first ? i - 1 : i], from.is_reduction));
  }
  for (StateStage& other : stages_) {
    if (other.place == StateStage::Place::At && other.at_axis == from.id) { other.at_axis = made.back().id; }
  }
  auto& axes = stages_[stage].axes;
  axes.erase(axes.begin() + static_cast<ptrdiff_t>(axis));
  axes.insert(axes.begin() + static_cast<ptrdiff_t>(axis), made.begin(), made.end());
  return {};
}

auto State::fuse(size_t stage, const std::vector<int64_t>& which) -> std::string {
  auto& axes = stages_[stage].axes;
  for (size_t i = 0; i < which.size(); ++i) {
    const bool is_next = which[i] >= 0 && which[i] < static_cast<int64_t>(axes.size()) && which[i] == which[0] + static_cast<int64_t>(i);
    if (!is_next) { return because(Why::AxesNotAdjacentOfStage).text(); }
  }
  if (which.empty()) { return because(Why::NamesNoAxis).text(); }
  StateAxis fused = new_axis("", 1, false);
  for (int64_t one : which) {
    const StateAxis& axis = axes[static_cast<size_t>(one)];
    fused.name += (fused.name.empty() ? "" : "@") + axis.name;
    fused.extent *= axis.extent;
    fused.is_reduction = fused.is_reduction || axis.is_reduction;
  }
  fused.name += "@";
  const size_t innermost = axes[static_cast<size_t>(which.back())].id;
  for (StateStage& other : stages_) {
    if (other.place == StateStage::Place::At && other.at_axis == innermost) { other.at_axis = fused.id; }
  }
  const auto first = axes.begin() + which[0];
  *first = std::move(fused);
  axes.erase(first + 1, first + static_cast<ptrdiff_t>(which.size()));
  return {};
}

auto State::reorder(size_t stage, const std::vector<int64_t>& order) -> std::string {
  auto& axes = stages_[stage].axes;
  std::vector<StateAxis> sorted;
  std::vector<bool> is_taken(axes.size());
  for (int64_t one : order) {
    if (one < 0 || one >= static_cast<int64_t>(axes.size()) || is_taken[static_cast<size_t>(one)]) { return because(Why::AxesNotOfStage).text(); }
    is_taken[static_cast<size_t>(one)] = true;
    sorted.push_back(axes[static_cast<size_t>(one)]);
  }
  if (sorted.size() != axes.size()) { return because(Why::NamesAxes).arg("found", sorted.size()).arg("stage", stages_[stage].name).arg("count", axes.size()).text(); }
  axes = std::move(sorted);
  return {};
}

auto State::compute_at(size_t stage, int64_t target, int64_t axis) -> std::string {
  const bool is_stage = target >= 0 && target < static_cast<int64_t>(stages_.size());
  if (!is_stage) { return because(Why::NoStageNumber).arg("number", target).arg("count", stages_.size()).text(); }
  const StateStage& of = stages_[static_cast<size_t>(target)];
  if (axis < 0 || axis >= static_cast<int64_t>(of.axes.size())) { return because(Why::NoAxisNumber).arg("stage", of.name).arg("number", axis).arg("count", of.axes.size()).text(); }
  StateStage& moved = stages_[stage];
  moved.place = StateStage::Place::At;
  moved.at_stage = static_cast<size_t>(target);
  moved.at_axis = of.axes[static_cast<size_t>(axis)].id;
  // The axes of a moved stage cover the part that its new place needs, which only a translation finds. Inner levels of tiles keep their lengths.
  for (StateAxis& one : moved.axes) {
    const bool is_inner = one.name.size() > 2 && one.name[one.name.size() - 2] == '.' && one.name.back() != '0';
    if (!is_inner && !one.is_reduction) { one.extent = 0; }
  }
  return {};
}

void State::insert_stage(size_t number, StateStage stage) {
  for (StateStage& one : stages_) {
    for (size_t& input : one.inputs) { input += input >= number ? 1 : 0; }
    if (one.place == StateStage::Place::At && one.at_stage >= number) { ++one.at_stage; }
  }
  stages_.insert(stages_.begin() + static_cast<ptrdiff_t>(number), std::move(stage));
}

// The copy comes behind the stage, and the readers read the copy.
auto State::cache_read(size_t stage, const std::string& scope, const std::vector<int64_t>& readers) -> std::string {
  for (int64_t reader : readers) {
    if (reader < 0 || reader >= static_cast<int64_t>(stages_.size())) { return because(Why::NoStageNumber).arg("number", reader).arg("count", stages_.size()).text(); }
  }
  StateStage copy = stages_[stage];
  copy.name += "." + scope;
  copy.is_placeholder = copy.is_output = false;
  copy.is_compute = true;
  copy.is_copy = true;
  copy.axes.clear();
  for (const Expr& extent : copy.op->outputs[0]->shape) { copy.axes.push_back(new_axis(fmt::format("ax{}", copy.axes.size()), as_int(extent).value_or(0), false)); }
  copy.written_axes = copy.axes.size();
  copy.place = StateStage::Place::Root;
  insert_stage(stage + 1, std::move(copy));
  stages_[stage + 1].inputs = {stage};
  for (int64_t reader : readers) {
    const size_t now = static_cast<size_t>(reader) + (static_cast<size_t>(reader) > stage ? 1 : 0);
    std::replace(stages_[now].inputs.begin(), stages_[now].inputs.end(), stage, stage + 1);
  }
  return {};
}

// The computation goes into a new stage in front, and the stage that had it copies.
auto State::cache_write(size_t stage, const std::string& scope) -> std::string {
  StateStage cache = stages_[stage];
  cache.name += "." + scope;
  cache.is_output = false;
  for (StateAxis& axis : cache.axes) { axis = new_axis(axis.name + "_c", axis.extent, axis.is_reduction); }
  insert_stage(stage, std::move(cache));
  StateStage& copy = stages_[stage + 1];
  copy.inputs = {stage};
  copy.is_copy = true;
  std::erase_if(copy.axes, [](const StateAxis& axis) { return axis.is_reduction; });
  copy.written_axes = copy.axes.size();
  return {};
}

// The stage in front computes partial results, with the axis among its own at `place`; the stage then reduces over that axis only.
auto State::rfactor(size_t stage, size_t axis, int64_t place) -> std::string {
  const StateAxis factored = stages_[stage].axes[axis];
  if (!factored.is_reduction) { return because(Why::AxisOfStageSpatial).arg("axis", factored.name).arg("stage", stages_[stage].name).text(); }
  StateStage partial = stages_[stage];
  partial.name += ".rf";
  partial.is_output = false;
  std::vector<StateAxis> spatial, reduced;
  for (const StateAxis& one : partial.axes) {
    if (one.id == factored.id) { continue; }
    (one.is_reduction ? reduced : spatial).push_back(new_axis(one.name, one.extent, one.is_reduction));
  }
  if (place < 0 || place > static_cast<int64_t>(spatial.size())) { return because(Why::FactoredPlace).arg("most", spatial.size()).arg("found", place).text(); }
  spatial.insert(spatial.begin() + place, new_axis(factored.name, factored.extent, false));
  partial.axes = std::move(spatial);
  partial.axes.insert(partial.axes.end(), reduced.begin(), reduced.end());
  partial.written_axes = partial.axes.size();
  insert_stage(stage, std::move(partial));
  StateStage& last = stages_[stage + 1];
  last.inputs = {stage};
  std::erase_if(last.axes, [](const StateAxis& one) { return one.is_reduction; });
  last.axes.push_back(new_axis(factored.name + "_v", factored.extent, true));
  last.written_axes = last.axes.size();
  return {};
}

}  // namespace loopsmith::script::auto_scheduler
