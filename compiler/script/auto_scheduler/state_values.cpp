// States as values: see state_values.h.
#include "script/auto_scheduler/state_values.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "frontend/te/tensors.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::auto_scheduler {
namespace {

using eval::Argument;
using eval::Arguments;
using eval::Evaluator;
using eval::Value;
using Numbers = std::vector<int64_t>;

// The annotations of axes, by their numbers in a record.
constexpr const char* annotation_names[] = {"", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize"};

// A call of a method of a state.
struct Call {
  Evaluator& evaluator;
  const StateObject& self;
  std::string step;
  Origin where;
  eval::BoundArguments bound = {};
  Value stopped = Value::error();              // the result of a call that fails

  auto state() const -> State& { return self.state; }
  auto is_given(size_t i) const -> bool { return bound.given[i] && !bound.values[i].value.is_none(); }
  auto bind(const Arguments& arguments, const std::vector<eval::Parameter>& parameters) -> bool {
    if (eval::bind_arguments(evaluator, step, arguments, parameters, bound)) { return true; }
    stopped = bound.unknown;
    return false;
  }
  auto wanted(const Argument& argument, const char* what) -> std::nullopt_t {
    if (argument.value.is_unknown()) {
      stopped = argument.value;
    } else {
      (void)evaluator.report(error(Code::ArgumentKind, argument.where).arg("wanted", what).arg("what", eval::describe(argument.value)));
    }
    return std::nullopt;
  }
  auto stage(const Argument& argument) -> std::optional<size_t> {
    const auto& stages = self.state.stages();
    if (auto number = argument.value.to_int(); number && *number >= 0 && *number < static_cast<int64_t>(stages.size())) { return static_cast<size_t>(*number); }
    if (const auto* object = argument.value.as<StateStageObject>()) {
      auto found = std::find(self.stage_ids.begin(), self.stage_ids.end(), object->id);
      if (found != self.stage_ids.end()) { return static_cast<size_t>(found - self.stage_ids.begin()); }
    }
    const auto* tensor = argument.value.as<frontend::te::TensorObject>();
    const auto* op = tensor ? tensor->op.get() : argument.value.as<frontend::te::Operation>();
    for (size_t i = 0; i < stages.size(); ++i) {
      // A stage that a step added has the operation of the stage it was made of, and another name.
      const bool is_of_operation = op && stages[i].name == op->name.view() && stages[i].op->name == op->name && stages[i].op->where == op->where;
      if (is_of_operation || (argument.value.string() && stages[i].name == *argument.value.string())) { return i; }
    }
    return wanted(argument, "a stage of the state: its tensor, or its number");
  }
  auto axis(size_t stage, const Argument& argument) -> std::optional<int64_t> {
    const auto& axes = self.state.stages()[stage].axes;
    if (const auto* object = argument.value.as<IteratorObject>()) {
      for (size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].id == object->axis.id) { return static_cast<int64_t>(i); }
      }
      std::string own;
      for (const StateAxis& one : axes) { own += fmt::format("{}`{}`", own.empty() ? "" : ", ", one.name); }
      (void)evaluator.report(error(Code::StageRefused, argument.where).arg("step", step).arg("stage", self.state.stages()[stage].name)
                                 .arg("reason", because(Why::NoAxisOfStage).arg("axis", object->axis.name).text()).remedy("use one of its axes: " + own));
      return std::nullopt;
    }
    return wanted(argument, "an axis of the stage, such as `state[C].iters[0]`");
  }
  auto axes(size_t stage, const Argument& argument) -> std::optional<Numbers> {
    const auto* items = argument.value.items();
    if (!items) { return wanted(argument, "a list of axes"); }
    Numbers out;
    for (const Value& item : *items) {
      auto one = axis(stage, {item, argument.where, {}});
      if (!one) { return std::nullopt; }
      out.push_back(*one);
    }
    return out;
  }
  auto number(const Argument& argument) -> std::optional<int64_t> {
    auto found = argument.value.to_int();
    return found ? found : wanted(argument, "an integer");
  }
  auto numbers(const Argument& argument) -> std::optional<Numbers> {
    const auto* items = argument.value.items();
    if (!items) { return wanted(argument, "a list of integers"); }
    Numbers out;
    for (const Value& item : *items) {
      auto one = item.to_int();
      if (!one) { return wanted(argument, "a list of integers"); }
      out.push_back(*one);
    }
    return out;
  }
  auto text(const Argument& argument) -> std::optional<std::string> {
    const std::string* found = argument.value.string();
    return found ? std::optional(*found) : wanted(argument, "a string");
  }
  // False: the step is refused, which is reported.
  auto apply(Step made) -> bool {
    const auto stage = static_cast<size_t>(number_of(made, 0));
    const std::string name = stage < self.state.stages().size() ? self.state.stages()[stage].name : std::string("?");
    const std::string why = self.state.apply(std::move(made));
    if (why.empty()) { return true; }
    (void)evaluator.report(error(Code::StageRefused, where).arg("step", step).arg("stage", name).arg("reason", why));
    return false;
  }
  // A stage that a step has added, with this number.
  auto added(size_t number) const -> Value {
    const size_t id = *std::max_element(self.stage_ids.begin(), self.stage_ids.end()) + 1;
    self.stage_ids.insert(self.stage_ids.begin() + static_cast<ptrdiff_t>(number), id);
    return Value(eval::make_object<StateStageObject>(Ref<StateObject>(&self), id));
  }
  auto axis_value(size_t stage, size_t i) const -> Value { return Value(eval::make_object<IteratorObject>(self.state.stages()[stage].axes[i])); }
};

// ---- steps -----------------------------------------------------------------------------------------------------------

using Run = auto (*)(Call&) -> Value;
struct Method {
  const char* name;
  std::vector<eval::Parameter> parameters;
  Run run;
};

auto parts_of(const Call& call, size_t stage, size_t first, size_t count) -> Value {
  std::vector<Value> out;
  for (size_t i = 0; i < count; ++i) { out.push_back(call.axis_value(stage, first + i)); }
  return Value::list(std::move(out));
}

auto split(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto axis = stage ? c.axis(*stage, c.bound.values[1]) : std::nullopt;
  auto lengths = axis ? c.numbers(c.bound.values[2]) : std::nullopt;
  if (!lengths) { return c.stopped; }
  const bool is_inner_first = !c.bound.given[3] || c.bound.values[3].value.to_int().value_or(1) != 0;
  const int64_t extent = c.state().stages()[*stage].axes[static_cast<size_t>(*axis)].extent;
  if (std::any_of(lengths->begin(), lengths->end(), [](int64_t n) { return n < 1; })) {
    return c.evaluator.report(error(Code::StageRefused, c.bound.values[2].where).arg("step", c.step).arg("stage", c.state().stages()[*stage].name)
                                  .arg("reason", because(Why::LengthBelowOne).text()).remedy("give the number of iterations of each new axis"));
  }
  if (!c.apply({"SP", {static_cast<int64_t>(*stage), *axis, extent, *lengths, static_cast<int64_t>(is_inner_first)}})) { return Value::error(); }
  return parts_of(c, *stage, static_cast<size_t>(*axis), lengths->size() + 1);
}
auto follow_split(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto axis = stage ? c.axis(*stage, c.bound.values[1]) : std::nullopt;
  auto source = axis ? c.number(c.bound.values[2]) : std::nullopt;
  auto count = source ? c.number(c.bound.values[3]) : std::nullopt;
  if (!count) { return c.stopped; }
  if (!c.apply({"FSP", {static_cast<int64_t>(*stage), *axis, *source, *count}})) { return Value::error(); }
  return parts_of(c, *stage, static_cast<size_t>(*axis), static_cast<size_t>(*count) + 1);
}
auto follow_fused_split(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto axis = stage ? c.axis(*stage, c.bound.values[1]) : std::nullopt;
  auto sources = axis ? c.numbers(c.bound.values[2]) : std::nullopt;
  auto level = sources ? c.number(c.bound.values[3]) : std::nullopt;
  auto is_factor = level ? c.bound.values[4].value.to_int() : std::nullopt;
  if (!is_factor) { return level ? Value::error() : c.stopped; }
  if (!c.apply({"FFSP", {static_cast<int64_t>(*stage), *axis, *sources, *level, *is_factor}})) { return Value::error(); }
  return parts_of(c, *stage, static_cast<size_t>(*axis), 2);
}
auto fuse(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto axes = stage ? c.axes(*stage, c.bound.values[1]) : std::nullopt;
  if (!axes) { return c.stopped; }
  const int64_t first = axes->empty() ? 0 : axes->front();
  if (!c.apply({"FU", {static_cast<int64_t>(*stage), *axes}})) { return Value::error(); }
  return c.axis_value(*stage, static_cast<size_t>(first));
}
auto reorder(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto axes = stage ? c.axes(*stage, c.bound.values[1]) : std::nullopt;
  if (!axes) { return c.stopped; }
  return c.apply({"RE", {static_cast<int64_t>(*stage), *axes}}) ? Value() : Value::error();
}

auto annotated(Call& c, Annotation kind) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto axis = stage ? c.axis(*stage, c.bound.values[1]) : std::nullopt;
  if (!axis) { return c.stopped; }
  if (!c.apply({"AN", {static_cast<int64_t>(*stage), *axis, static_cast<int64_t>(kind)}})) { return Value::error(); }
  return c.axis_value(*stage, static_cast<size_t>(*axis));
}
auto bind(Call& c) -> Value {
  const std::string* thread = c.bound.values[2].value.string();
  const auto* found = thread ? std::find(std::begin(annotation_names), std::end(annotation_names), *thread) : std::end(annotation_names);
  const auto number = found - std::begin(annotation_names);
  if (number < static_cast<ptrdiff_t>(Annotation::VThread) || number > static_cast<ptrdiff_t>(Annotation::ThreadZ)) { (void)c.wanted(c.bound.values[2], "an index of threads, such as `\"threadIdx.x\"`"); return c.stopped; }
  return annotated(c, static_cast<Annotation>(number));
}
auto pragma_step(Call& c, const Argument& of, const Argument& axis_given, std::string pragma) -> Value {
  auto stage = c.stage(of);
  auto axis = stage ? c.axis(*stage, axis_given) : std::nullopt;
  if (!axis) { return c.stopped; }
  return c.apply({"PR", {static_cast<int64_t>(*stage), *axis, std::move(pragma)}}) ? Value() : Value::error();
}

auto compute_at(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto target = stage ? c.stage(c.bound.values[1]) : std::nullopt;
  auto axis = target ? c.axis(*target, c.bound.values[2]) : std::nullopt;
  if (!axis) { return c.stopped; }
  return c.apply({"CA", {static_cast<int64_t>(*stage), static_cast<int64_t>(*target), *axis}}) ? Value() : Value::error();
}
auto placed(Call& c, const char* kind) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  if (!stage) { return c.stopped; }
  return c.apply({kind, {static_cast<int64_t>(*stage)}}) ? Value() : Value::error();
}
auto cache_read(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto scope = stage ? c.text(c.bound.values[1]) : std::nullopt;
  if (!scope) { return c.stopped; }
  std::vector<Value> given{c.bound.values[2].value};
  if (const auto* items = given[0].items()) { given = *items; }
  Numbers readers;
  for (const Value& one : given) {
    auto reader = c.stage({one, c.bound.values[2].where, {}});
    if (!reader) { return c.stopped; }
    readers.push_back(static_cast<int64_t>(*reader));
  }
  return c.apply({"CHR", {static_cast<int64_t>(*stage), *scope, readers}}) ? c.added(*stage + 1) : Value::error();
}
auto cache_write(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto scope = stage ? c.text(c.bound.values[1]) : std::nullopt;
  if (!scope) { return c.stopped; }
  return c.apply({"CHW", {static_cast<int64_t>(*stage), *scope}}) ? c.added(*stage) : Value::error();
}
auto rfactor(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto axis = stage ? c.axis(*stage, c.bound.values[1]) : std::nullopt;
  auto place = axis ? c.number(c.bound.values[2]) : std::nullopt;
  if (!place) { return c.stopped; }
  return c.apply({"RF", {static_cast<int64_t>(*stage), *axis, *place}}) ? c.added(*stage) : Value::error();
}
auto storage_align(Call& c) -> Value {
  auto stage = c.stage(c.bound.values[0]);
  auto axis = stage ? c.axis(*stage, c.bound.values[1]) : std::nullopt;
  auto factor = axis ? c.number(c.bound.values[2]) : std::nullopt;
  auto offset = factor ? c.number(c.bound.values[3]) : std::nullopt;
  if (!offset) { return c.stopped; }
  return c.apply({"SA", {static_cast<int64_t>(*stage), *axis, *factor, *offset}}) ? Value() : Value::error();
}
auto copied(Call& c) -> Value {
  auto copy = eval::make_object<StateObject>(c.self.state, c.self.tensors);
  copy->stage_ids = c.self.stage_ids;
  return Value(copy);
}

auto methods() -> const std::vector<Method>& {
  static const std::vector<Method> rows{
      {"split", {{Name("stage")}, {Name("iterator")}, {Name("lengths")}, {Name("inner_to_outer"), false}}, split},
      {"follow_split", {{Name("stage")}, {Name("iterator")}, {Name("src_step_id")}, {Name("n_split")}}, follow_split},
      {"follow_fused_split", {{Name("stage")}, {Name("iterator")}, {Name("src_step_ids")}, {Name("level")}, {Name("factor_or_nparts")}}, follow_fused_split},
      {"fuse", {{Name("stage")}, {Name("iters")}}, fuse},
      {"reorder", {{Name("stage")}, {Name("order")}}, reorder},
      {"bind", {{Name("stage")}, {Name("iterator")}, {Name("thread_name")}}, bind},
      {"parallel", {{Name("stage")}, {Name("iterator")}}, [](Call& c) { return annotated(c, Annotation::Parallel); }},
      {"vectorize", {{Name("stage")}, {Name("iterator")}}, [](Call& c) { return annotated(c, Annotation::Vectorize); }},
      {"unroll", {{Name("stage")}, {Name("iterator")}, {Name("max_unroll"), false}}, [](Call& c) { return annotated(c, Annotation::Unroll); }},
      {"pragma", {{Name("stage")}, {Name("iterator")}, {Name("pragma_type")}},
       [](Call& c) { auto text = c.text(c.bound.values[2]); return text ? pragma_step(c, c.bound.values[0], c.bound.values[1], *text) : c.stopped; }},
      {"compute_at", {{Name("stage")}, {Name("target_stage")}, {Name("target_iter")}}, compute_at},
      {"compute_inline", {{Name("stage")}}, [](Call& c) { return placed(c, "CI"); }},
      {"compute_root", {{Name("stage")}}, [](Call& c) { return placed(c, "CR"); }},
      {"cache_read", {{Name("stage")}, {Name("scope_name")}, {Name("reader_stages")}}, cache_read},
      {"cache_write", {{Name("stage")}, {Name("scope_name")}}, cache_write},
      {"rfactor", {{Name("stage")}, {Name("iterator")}, {Name("factor_iter_id")}}, rfactor},
      {"storage_align", {{Name("stage")}, {Name("iterator")}, {Name("factor")}, {Name("offset")}}, storage_align},
      {"copy", {}, copied},
  };
  return rows;
}

// A method bound to its state.
class StateMethod final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  StateMethod(Ref<StateObject> s, const Method& m) : Object(&type_tag), state(std::move(s)), method(m) {}
  const Ref<StateObject> state;
  const Method& method;
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value> override {
    Call call{evaluator, *state, method.name, arguments.call};
    return call.bind(arguments, method.parameters) ? method.run(call) : call.stopped;
  }
  auto clone(eval::Cloner& cloner) const -> std::optional<Value> override {
    const Value copy = cloner.clone(Value(Ref<eval::Object>(state.get())));
    return Value(eval::make_object<StateMethod>(Ref<StateObject>(copy.as<StateObject>()), method));
  }
  auto repr() const -> std::string override { return fmt::format("<method {} of a state>", method.name); }
};
const eval::TypeTag StateMethod::type_tag{"a method of a state"};

}  // namespace

// ---- values ----------------------------------------------------------------------------------------------------------

const eval::TypeTag StateObject::type_tag{"auto_scheduler.State"};
const eval::TypeTag StateStageObject::type_tag{"a stage of a state"};
const eval::TypeTag IteratorObject::type_tag{"an axis of a state"};

StateObject::StateObject(State s, std::shared_ptr<const std::vector<Value>> t) : Object(&type_tag), state(std::move(s)), stage_ids(state.stages().size()), tensors(std::move(t)) {
  std::iota(stage_ids.begin(), stage_ids.end(), 0);
}

auto StateObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name stages("stages"), stage_ops("stage_ops"), steps("transform_steps"), object("state_object");
  // TVM's states are wrappers of an object; here both are one.
  if (name == object) { return Value(Ref<eval::Object>(this)); }
  if (name == stages || name == stage_ops) {
    std::vector<Value> out;
    for (size_t id : stage_ids) { out.emplace_back(eval::make_object<StateStageObject>(Ref<StateObject>(this), id)); }
    return Value::list(std::move(out));
  }
  if (name == steps) {
    std::vector<Value> out;
    for (const Step& step : state.steps()) { out.push_back(Value::str(text_of(step))); }
    return Value::list(std::move(out));
  }
  for (const Method& method : methods()) {
    if (name == method.name) { return Value(eval::make_object<StateMethod>(Ref<StateObject>(this), method)); }
  }
  return {};
}
void StateObject::attribute_names(std::vector<Name>& out) const {
  for (const Method& method : methods()) { out.emplace_back(method.name); }
  for (const char* name : {"stages", "stage_ops", "transform_steps", "state_object"}) { out.emplace_back(name); }
}
auto StateObject::get_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool, Origin where) const -> std::optional<Value> {
  if (indices.size() != 1) { return {}; }
  Call call{evaluator, *this, "state[...]", where};
  auto stage = call.stage(indices[0]);
  return stage ? Value(eval::make_object<StateStageObject>(Ref<StateObject>(this), stage_ids[*stage])) : call.stopped;
}
auto StateObject::clone(eval::Cloner& cloner) const -> std::optional<Value> {
  if (const eval::Object* known = cloner.find(this)) { return Value(known); }
  auto copy = eval::make_object<StateObject>(state, tensors);
  copy->stage_ids = stage_ids;
  cloner.remember(this, copy.get());
  return Value(copy);
}
auto StateObject::to_str() const -> std::string { return loops_text(state); }

auto StateStageObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name iters("iters"), op("op"), own_name("name");
  auto found = std::find(state->stage_ids.begin(), state->stage_ids.end(), id);
  if (found == state->stage_ids.end()) { return {}; }
  const StateStage& stage = state->state.stages()[static_cast<size_t>(found - state->stage_ids.begin())];
  if (name == own_name) { return Value::str(stage.name); }
  if (name == op) { return Value(stage.op); }
  if (name != iters) { return {}; }
  std::vector<Value> out;
  for (const StateAxis& axis : stage.axes) { out.emplace_back(eval::make_object<IteratorObject>(axis)); }
  return Value::list(std::move(out));
}
void StateStageObject::attribute_names(std::vector<Name>& out) const {
  for (const char* name : {"iters", "op", "name"}) { out.emplace_back(name); }
}
auto StateStageObject::clone(eval::Cloner& cloner) const -> std::optional<Value> {
  const Value copy = cloner.clone(Value(Ref<eval::Object>(state.get())));
  return Value(eval::make_object<StateStageObject>(Ref<StateObject>(copy.as<StateObject>()), id));
}
auto StateStageObject::repr() const -> std::string {
  auto found = std::find(state->stage_ids.begin(), state->stage_ids.end(), id);
  return found == state->stage_ids.end() ? "<a stage>" : "<stage " + state->state.stages()[static_cast<size_t>(found - state->stage_ids.begin())].name + ">";
}

auto IteratorObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name own("name"), extent("extent");
  if (name == own) { return Value::str(axis.name); }
  if (name == extent) { return axis.extent > 0 ? Value(axis.extent) : Value(); }
  return {};
}
void IteratorObject::attribute_names(std::vector<Name>& out) const {
  for (const char* name : {"name", "extent"}) { out.emplace_back(name); }
}
auto IteratorObject::equals(const eval::Object& other) const -> bool {
  const auto* that = other.as<IteratorObject>();
  return that && that->axis.id == axis.id;
}
auto IteratorObject::repr() const -> std::string { return axis.extent > 0 ? fmt::format("{}(0,{})", axis.name, axis.extent) : fmt::format("{}(None)", axis.name); }

// ---- text ------------------------------------------------------------------------------------------------------------

auto loops_text(const State& state) -> std::string {
  const auto& stages = state.stages();
  std::string placeholders, out;
  for (const StateStage& stage : stages) {
    if (stage.is_placeholder) { placeholders += (placeholders.empty() ? "" : ", ") + stage.name; }
  }
  std::function<void(size_t, size_t)> print = [&](size_t i, size_t indent) {
    const StateStage& stage = stages[i];
    for (size_t k = 0; k < stage.axes.size(); ++k) {
      const StateAxis& axis = stage.axes[k];
      const char* annotation = annotation_names[static_cast<size_t>(axis.annotation)];
      out += fmt::format("{:{}}{} {} {}\n", "", indent, *annotation ? annotation : "for", axis.name, axis.extent > 0 ? fmt::format("(0,{})", axis.extent) : std::string("(None)"));
      indent += 2;
      for (size_t inner : state.attached_at(i, k)) { print(inner, indent); }
    }
    out += fmt::format("{:{}}{} = ...\n", "", indent, stage.name);
  };
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!stages[i].is_placeholder && stages[i].place == StateStage::Place::Root) { print(i, 0); }
  }
  return (placeholders.empty() ? std::string() : "Placeholder: " + placeholders + "\n") + out;
}

}  // namespace loopsmith::script::auto_scheduler
