// Groups of stages: see groups.h.
#include "script/te/groups.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "script/te/axis_steps.h"
#include "script/te/change.h"
#include "script/te/objects.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::te {
namespace {

using eval::Arguments;
using eval::BoundArguments;
using eval::Evaluator;

auto names_of(const GroupObject& group) -> std::string {
  std::vector<std::string> names;
  for (size_t i : group.members) { names.push_back(group.schedule->stages->stages[i].name.str()); }
  return fmt::format("{}", fmt::join(names, ", "));
}

auto compute_at(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  const auto& group = *self.as<GroupObject>();
  const ScheduleObject& schedule = *group.schedule;
  BoundArguments b;
  if (!eval::bind_arguments(e, "compute_at", a, {{"parent"}, {"scope"}}, b)) { return b.unknown; }
  const Stages& stages = *schedule.stages;
  auto no = [&](const Reason& why, std::string remedy) { return refuse(e, schedule, a.call, "compute_at", names_of(group), why, std::move(remedy)); };
  const auto* parent = b.values[0].value.as<StageObject>();
  if (!parent) {
    if (b.values[0].value.is_opaque()) {
      schedule.record.is_unknown = true;
      return eval::Value::opaque();
    }
    schedule.record.is_stage_refused = true;
    return e.report(error(Code::ArgumentKind, b.values[0].where).arg("wanted", "a stage").arg("what", eval::describe(b.values[0].value)).remedy("give the stage: `s[...]`"));
  }
  const Stage& consumer = stages.stages[parent->stage];
  for (size_t i : group.members) {
    if (stages.stages[i].is_output) { return no(because(Why::OutputNotRead), "name outputs of the group that a later stage reads"); }
    if (!reads(stages, parent->stage, i)) { return no(because(Why::StageDoesNotRead).arg("stage", consumer.name.view()), "name a stage that reads the outputs of the group"); }
  }
  if (consumer.place == Stage::Place::Inline) { return no(because(Why::StageInline).arg("stage", consumer.name.view()), fmt::format("call `s[{}].compute_root()` first", consumer.name.view())); }
  auto axis = to_axis(e, schedule, "compute_at", parent->stage, b.values[1]);
  if (!axis) { return eval::Value::error(); }
  const bool is_done = change(e, schedule, a.call, [&](Stages& s) {
    for (size_t i : group.members) {
      if (s.stages[i].place == Stage::Place::Root) { place_at(s, i, *axis, located(schedule, a.call)); }
    }
  });
  return is_done ? self : eval::Value::error();
}

auto compute_root(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  const auto& group = *self.as<GroupObject>();
  const bool is_done = change(e, *group.schedule, a.call, [&](Stages& s) {
    // Stages that are computed at a member, or inline, keep their places inside the group.
    const std::set<size_t> members(group.members.begin(), group.members.end());
    for (size_t i : group.members) {
      if (s.stages[i].place == Stage::Place::At && !members.contains(s.axes[s.stages[i].at_axis].stage)) { s.stages[i].place = Stage::Place::Root; }
    }
  });
  return is_done ? self : eval::Value::error();
}

auto without_loops(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  const auto& group = *self.as<GroupObject>();
  return refuse(e, *group.schedule, a.call, "a step on loops", names_of(group), because(Why::GroupWithoutLoops), "apply it to the stages of the group: `s[...]`");
}

struct Method { const char* name; eval::Method::Run run; };
constexpr Method methods[] = {
    {"compute_at", compute_at}, {"compute_root", compute_root}, {"split", without_loops}, {"tile", without_loops}, {"fuse", without_loops}, {"reorder", without_loops},
    {"parallel", without_loops}, {"vectorize", without_loops}, {"unroll", without_loops}, {"bind", without_loops}, {"pragma", without_loops}, {"prefetch", without_loops},
    {"tensorize", without_loops}, {"compute_inline", without_loops}, {"env_threads", without_loops},
};

}  // namespace

const eval::TypeTag GroupObject::type_tag{"a group of stages"};

auto GroupObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<eval::Value> {
  for (const Method& method : methods) {
    if (name == method.name) { return eval::Value(eval::make_object<eval::Method>(eval::Value(Ref<eval::Object>(this)), name, method.run)); }
  }
  return {};
}
void GroupObject::attribute_names(std::vector<Name>& out) const {
  for (const Method& method : methods) {
    if (method.run != without_loops) { out.emplace_back(method.name); }
  }
}
auto GroupObject::clone(eval::Cloner& cloner) const -> std::optional<eval::Value> {
  eval::Value copied = cloner.clone(eval::Value(Ref<eval::Object>(schedule.get())));
  return eval::Value(eval::make_object<GroupObject>(Ref<ScheduleObject>(copied.as<ScheduleObject>()), members));
}
auto GroupObject::equals(const eval::Object& other) const -> bool {
  const auto* that = other.as<GroupObject>();
  return that && that->members == members && that->schedule == schedule;
}
auto GroupObject::repr() const -> std::string { return "<group of " + names_of(*this) + ">"; }

auto create_group(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  const ScheduleObject& schedule = *self.as<ScheduleObject>();
  BoundArguments b;
  if (!eval::bind_arguments(e, "create_group", a, {{"outputs"}, {"inputs"}, {"include_inputs", false}}, b)) {
    if (b.unknown.is_opaque()) { schedule.record.is_unknown = true; } else { schedule.record.is_stage_refused = true; }
    return b.unknown;
  }
  auto outputs = to_stages(e, schedule, b.values[0]);
  auto inputs = outputs ? to_stages(e, schedule, b.values[1]) : std::nullopt;
  if (!inputs) {
    const bool is_opaque = b.values[0].value.is_opaque() || b.values[1].value.is_opaque();
    if (is_opaque) { schedule.record.is_unknown = true; }
    return is_opaque ? eval::Value::opaque() : eval::Value::error();
  }
  const bool includes_inputs = b.given[2] && b.values[2].value.to_int().value_or(0) != 0;
  const Stages& stages = *schedule.stages;
  std::vector<size_t> members;
  // As in TVM: the stages on the ways from the inputs to the outputs.
  std::function<bool(size_t)> is_reached = [&](size_t i) -> bool {
    const bool is_input = std::find(inputs->begin(), inputs->end(), i) != inputs->end();
    bool is_member = is_input && includes_inputs && !stages.stages[i].is_placeholder;
    bool is_behind = is_input;
    for (size_t input : is_input ? std::vector<size_t>() : stages.stages[i].inputs) { is_behind = is_reached(input) || is_behind; }
    is_member = is_member || (is_behind && !is_input);
    if (is_member && std::find(members.begin(), members.end(), i) == members.end()) { members.push_back(i); }
    return is_behind;
  };
  for (size_t output : *outputs) { (void)is_reached(output); }
  if (members.empty()) { return refuse(e, schedule, a.call, "create_group", stages.stages[outputs->empty() ? 0 : outputs->front()].name.view(), because(Why::GroupEmpty), "name outputs that are computed of the inputs"); }
  return eval::Value(eval::make_object<GroupObject>(Ref<ScheduleObject>(&schedule), std::move(members)));
}

}  // namespace loopsmith::script::te
