// Compute DAGs as values, and the methods of tasks: see dag.h.
#include "script/auto_scheduler/dag.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/objects.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "script/auto_scheduler/log.h"
#include "script/auto_scheduler/python_code.h"
#include "script/auto_scheduler/state_values.h"
#include "script/log_values.h"
#include "script/texts.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::auto_scheduler {
namespace {

using eval::Arguments;
using eval::Evaluator;
using eval::Value;
using frontend::te::Operation;
using frontend::te::TensorObject;

thread_local const frontend::File* running = nullptr;

// ---- tasks -----------------------------------------------------------------------------------------------------------

auto key_text(const TaskValue& task) -> std::string {
  nlohmann::ordered_json key = nlohmann::ordered_json::array({task.workload});
  for (const Value& argument : task.arguments) { key.push_back(nlohmann::ordered_json(json_of_value(argument))); }
  return text_as_in_python(key);
}

// `auto_scheduler.make_workload_key(...)`.
class KeyObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit KeyObject(TaskValue t) : Object(&type_tag), task(std::move(t)) {}
  const TaskValue task;
  auto repr() const -> std::string override { return "'" + key_text(task) + "'"; }
  auto to_str() const -> std::string override { return key_text(task); }
};
const eval::TypeTag KeyObject::type_tag{"a workload key"};

// A method of a task, bound to it.
class TaskMethod final : public eval::Object {
 public:
  using Run = auto (*)(Evaluator&, const TaskValue&, const Arguments&) -> Value;
  static const eval::TypeTag type_tag;
  TaskMethod(std::shared_ptr<const TaskValue> t, const char* n, Run r) : Object(&type_tag), task(std::move(t)), name(n), run(r) {}
  const std::shared_ptr<const TaskValue> task;
  const char* const name;
  const Run run;
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value> override { return run(evaluator, *task, arguments); }
  auto repr() const -> std::string override { return fmt::format("<method {} of a task>", name); }
};
const eval::TypeTag TaskMethod::type_tag{"a method of a task"};

auto dag_of(Evaluator& e, const std::shared_ptr<const std::vector<Value>>& tensors, Origin where) -> Value {
  auto prepared = prepare(e, *tensors, where);
  return prepared ? Value(eval::make_object<DagObject>(tensors, *std::move(prepared))) : e.opaque(where);
}

// ---- schedules of steps ----------------------------------------------------------------------------------------------

// The schedule after steps and the tensors of its function, as TVM gives both.
auto schedule_and_tensors(const Scheduled& made, const std::vector<Value>& tensors) -> Value {
  return Value::tuple({Value(Ref<eval::Object>(made.schedule.get())), Value::list(tensors)});
}

// The fastest record of a task in a log; none: reported.
auto best_record(Evaluator& e, const TaskValue& task, const eval::Argument& path) -> std::optional<AnsorRecord> {
  const std::string* name = path.value.string();
  if (!name) {
    if (!path.value.is_unknown()) { (void)e.report(error(Code::ArgumentKind, path.where).arg("wanted", "the path of a log").arg("what", eval::describe(path.value))); }
    return std::nullopt;
  }
  auto text = running ? text_beside(*running, *name) : std::nullopt;
  if (!text) {
    (void)e.report(error(Code::CannotRead, path.where).arg("file", *name).arg("reason", because(Why::NoSuchFile).text()).remedy(fmt::format("search for a schedule: `loopsmith tune FILE --log {}`", *name)));
    return std::nullopt;
  }
  auto records = read_ansor_log(*name, *text);
  const Task wanted{Name("task"), task.workload, task.arguments, *task.tensors, task.where};
  auto best = records.ok() ? best_of_log(*name, *records, {wanted}, {}) : Result<AnsorChoice>(std::move(records).diagnostics());
  if (best.ok()) { return std::move(best->record); }
  for (Diagnostic d : best.diagnostics()) {
    d.where = path.where;
    (void)e.report(std::move(d));
  }
  return std::nullopt;
}

// The schedule of a task after the steps of a record; none: reported.
auto scheduled(Evaluator& e, const TaskValue& task, const AnsorRecord& record, const std::string& file, Origin call) -> std::optional<Scheduled> {
  auto prepared = prepare(e, *task.tensors, call);
  if (!prepared) { return std::nullopt; }
  auto done = schedule_of_steps(e, *prepared, *task.tensors, record.steps);
  if (auto* made = std::get_if<Scheduled>(&done)) { return std::move(*made); }
  (void)e.report(error(Code::RecordRefused, call).arg("number", static_cast<int64_t>(record.number)).arg("file", file).arg("reason", std::get<std::string>(done))
                     .remedy("use a log of this workload, or of the version of TVM that wrote it"));
  return std::nullopt;
}

auto apply_best(Evaluator& e, const TaskValue& task, const Arguments& a) -> Value {
  eval::BoundArguments b;
  if (!eval::bind_arguments(e, "apply_best", a, {{Name("log_file")}, {Name("include_compatible"), false}, {Name("layout_rewrite_option"), false}}, b)) { return b.unknown; }
  auto record = best_record(e, task, b.values[0]);
  auto made = record ? scheduled(e, task, *record, *b.values[0].value.string(), a.call) : std::nullopt;
  return made ? schedule_and_tensors(*made, *task.tensors) : Value::error();
}

// The text of a record: statements on stages, or the primitives on blocks.
auto print_best(Evaluator& e, const TaskValue& task, const Arguments& a) -> Value {
  eval::BoundArguments b;
  if (!eval::bind_arguments(e, "print_best", a, {{Name("log_file")}, {Name("print_mode"), false}}, b)) { return b.unknown; }
  auto record = best_record(e, task, b.values[0]);
  auto prepared = record ? prepare(e, *task.tensors, a.call) : std::nullopt;
  return prepared ? Value::str(python_code(State(*prepared->stages, *task.tensors), record->steps)) : Value::error();
}

// ---- methods of a DAG ------------------------------------------------------------------------------------------------

auto self_of(const Value& self) -> const DagObject& { return *self.as<DagObject>(); }

// The state argument of a method; null: reported, or not known.
auto state_of(Evaluator& e, std::string_view method, const Arguments& a, Value& stopped) -> const StateObject* {
  eval::BoundArguments b;
  stopped = Value::error();
  if (!eval::bind_arguments(e, method, a, {{Name("state")}, {Name("layout_rewrite"), false}}, b)) {
    stopped = b.unknown;
    return nullptr;
  }
  const auto* state = b.values[0].value.as<StateObject>();
  if (state) { return state; }
  if (b.values[0].value.is_unknown()) { stopped = b.values[0].value; return nullptr; }
  (void)e.report(error(Code::ArgumentKind, b.values[0].where).arg("wanted", "a state, such as `dag.get_init_state()`").arg("what", eval::describe(b.values[0].value)));
  return nullptr;
}

// The schedule after the steps of a state; none: reported.
auto scheduled(Evaluator& e, const DagObject& dag, const StateObject& state, std::string_view method, Origin call) -> std::optional<Scheduled> {
  auto done = schedule_of_steps(e, dag.prepared, *dag.tensors, state.state.steps());
  if (auto* made = std::get_if<Scheduled>(&done)) { return std::move(*made); }
  (void)e.report(error(Code::BadValue, call).arg("action", "apply `" + std::string(method) + "`").arg("reason", std::get<std::string>(done)).remedy("change that step of the state"));
  return std::nullopt;
}

auto get_init_state(Evaluator&, const Value& self, const Arguments&) -> Value {
  const DagObject& dag = self_of(self);
  return Value(eval::make_object<StateObject>(State(*dag.prepared.stages, *dag.tensors), dag.tensors));
}
auto apply_steps_from_state(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Value stopped;
  const StateObject* state = state_of(e, "apply_steps_from_state", a, stopped);
  auto made = state ? scheduled(e, self_of(self), *state, "apply_steps_from_state", a.call) : std::nullopt;
  if (!made) { return state ? Value::error() : stopped; }
  return schedule_and_tensors(*made, *self_of(self).tensors);
}
auto infer_bound_from_state(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Value stopped;
  const StateObject* state = state_of(e, "infer_bound_from_state", a, stopped);
  auto made = state ? scheduled(e, self_of(self), *state, "infer_bound_from_state", a.call) : std::nullopt;
  if (!made) { return state ? Value::error() : stopped; }
  auto out = eval::make_object<StateObject>(state->state, state->tensors);
  out->state.set_extents(made->extents);
  out->stage_ids = state->stage_ids;
  return Value(out);
}
auto print_python_code_from_state(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Value stopped;
  const StateObject* state = state_of(e, "print_python_code_from_state", a, stopped);
  if (!state) { return stopped; }
  return Value::str(python_code(State(*self_of(self).prepared.stages, *self_of(self).tensors), state->state.steps()));
}

struct Method { const char* name; eval::Method::Run run; };
constexpr Method dag_methods[] = {{"get_init_state", get_init_state}, {"apply_steps_from_state", apply_steps_from_state}, {"infer_bound_from_state", infer_bound_from_state},
                                  {"print_python_code_from_state", print_python_code_from_state}};

// ---- facts of a DAG --------------------------------------------------------------------------------------------------

// The operations on real numbers for one element.
auto operations_in(const Expr& value) -> double {
  double count = 0;
  post_order(value, [&](const Expr& e) {
    if (!e.dtype().is_float()) { return; }
    switch (e.kind()) {
      case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::Div: case NodeKind::Min: case NodeKind::Max: count += 1; break;
      default: break;
    }
  });
  return count;
}

auto flops_of(const Operation& op) -> double {
  if (op.kind != Operation::Kind::Compute) { return 0; }
  double elements = 1;
  for (const IterVar& axis : op.axis) { elements *= static_cast<double>(as_int(axis.dom.extent).value_or(1)); }
  double out = 0;
  for (const Expr& value : op.body) {
    const auto* reduce = value.as<Reduce>();
    double each = operations_in(reduce ? reduce->source[static_cast<size_t>(reduce->value_index)] : value);
    if (reduce) {
      for (const Expr& joined : reduce->combiner->result) { each += operations_in(joined); }
      for (const IterVar& axis : reduce->axis) { each *= static_cast<double>(as_int(axis.dom.extent).value_or(1)); }
    }
    out += each * elements;
  }
  return out;
}

// "matmul(i, j) += (A[i, k]*B[k, j])"
auto element_text(const Operation& op) -> std::string {
  std::vector<std::string> axes;
  for (const IterVar& axis : op.axis) { axes.push_back(axis.var->name.str()); }
  std::string out;
  for (size_t i = 0; i < op.body.size(); ++i) {
    const auto* reduce = op.body[i].as<Reduce>();
    const Expr& value = reduce ? reduce->source[static_cast<size_t>(reduce->value_index)] : op.body[i];
    const auto* joined = reduce && reduce->combiner->result.size() == 1 ? &reduce->combiner->result[0] : nullptr;
    const char* sign = !reduce ? "=" : joined && joined->as<Add>() ? "+=" : joined && joined->as<Mul>() ? "*=" : joined && joined->as<Max>() ? "max=" : joined && joined->as<Min>() ? "min=" : "=";
    out += fmt::format("{}({}) {} {}\n", op.outputs[i]->name.view(), fmt::join(axes, ", "), sign, print_script(value));
  }
  return out;
}

}  // namespace

// ---- values ----------------------------------------------------------------------------------------------------------

const eval::TypeTag DagObject::type_tag{"auto_scheduler.ComputeDAG"};

auto DagObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name flops("flop_ct"), init("init_state"), own_tensors("tensors"), ops("ops");
  if (name == init) { return Value(eval::make_object<StateObject>(State(*prepared.stages, *tensors), tensors)); }
  if (name == own_tensors) { return Value::list(*tensors); }
  if (name == flops || name == ops) {
    double count = 0;
    std::vector<Value> out;
    for (size_t stage : numbered_stages(*prepared.stages, *tensors)) {
      const auto& op = prepared.stages->stages[stage].op;
      count += flops_of(*op);
      out.emplace_back(op);
    }
    return name == ops ? Value::list(std::move(out)) : Value(count);
  }
  for (const Method& method : dag_methods) {
    if (name == method.name) { return Value(eval::make_object<eval::Method>(Value(Ref<eval::Object>(this)), name, method.run)); }
  }
  return {};
}
void DagObject::attribute_names(std::vector<Name>& out) const {
  for (const Method& method : dag_methods) { out.emplace_back(method.name); }
  for (const char* name : {"flop_ct", "init_state", "tensors", "ops"}) { out.emplace_back(name); }
}
auto DagObject::to_str() const -> std::string {
  std::string out;
  for (size_t stage : numbered_stages(*prepared.stages, *tensors)) {
    const Operation& op = *prepared.stages->stages[stage].op;
    if (op.kind == Operation::Kind::Compute) {
      out += element_text(op);
      continue;
    }
    std::vector<std::string> shape;
    for (const Expr& extent : op.outputs[0]->shape) { shape.push_back(print_script(extent)); }
    out += fmt::format("{} = {} [{}]\n", op.name.view(), op.kind == Operation::Kind::Placeholder ? "PLACEHOLDER" : "EXTERN", fmt::join(shape, ", "));
  }
  return out;
}

namespace {

// A task: its members are those of its program.
class TaskObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit TaskObject(TaskValue t) : Object(&type_tag), task(std::make_shared<const TaskValue>(std::move(t))) {}
  const std::shared_ptr<const TaskValue> task;
  auto get_attribute(Evaluator& evaluator, Name member, Origin) const -> std::optional<Value> override {
    static const Name dag("compute_dag"), key("workload_key"), target("target"), apply("apply_best"), print("print_best");
    if (member == dag) { return dag_of(evaluator, task->tensors, task->where); }
    if (member == key) { return Value(eval::make_object<KeyObject>(*task)); }
    if (member == target) { return task->target; }
    if (member == apply) { return Value(eval::make_object<TaskMethod>(task, "apply_best", apply_best)); }
    if (member == print) { return Value(eval::make_object<TaskMethod>(task, "print_best", print_best)); }
    return {};
  }
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* name : {"compute_dag", "workload_key", "target", "apply_best", "print_best"}) { out.emplace_back(name); }
  }
  auto repr() const -> std::string override { return "a task of the auto-scheduler"; }
};
const eval::TypeTag TaskObject::type_tag{"a task of the auto-scheduler"};

}  // namespace

auto with_task(const frontend::ProgramObject& program, TaskValue task) -> Value {
  // A task may outlive the evaluation of its file, so it keeps plain values only.
  for (Value& argument : task.arguments) { argument = value_of_json(json_of_value(argument)); }
  return Value(eval::make_object<frontend::ProgramObject>(program.module, program.name, program.is_function, program.where, program.foreign,
                                                          Ref<eval::Object>(eval::make_object<TaskObject>(std::move(task)))));
}

auto compute_dag(Evaluator& e, const Arguments& a) -> Value {
  eval::BoundArguments b;
  if (!eval::bind_arguments(e, "ComputeDAG", a, {{Name("compute_or_sche")}}, b)) { return b.unknown; }
  const eval::Argument& given = b.values[0];
  if (const TaskValue* task = task_of_key(given.value)) { return dag_of(e, task->tensors, a.call); }
  std::vector<Value> tensors{given.value};
  if (const auto* items = given.value.items()) { tensors = *items; }
  if (const auto* schedule = given.value.as<ScheduleObject>(); schedule && schedule->stages) {
    tensors.clear();
    for (const te::Stage& stage : schedule->stages->stages) {
      for (size_t i = 0; (stage.is_placeholder || stage.is_output) && i < stage.op->outputs.size(); ++i) { tensors.emplace_back(eval::make_object<TensorObject>(stage.op, i)); }
    }
  }
  const bool are_tensors = std::all_of(tensors.begin(), tensors.end(), [](const Value& one) { return one.as<TensorObject>() != nullptr; });
  if (given.value.is_unknown() || given.value.string()) { return e.opaque(a.call); }
  if (!are_tensors) {
    return e.report(error(Code::ArgumentKind, given.where).arg("wanted", "the tensors of a task, or a workload key").arg("what", eval::describe(given.value))
                        .remedy("give the tensors that the function of the task returns"));
  }
  return dag_of(e, std::make_shared<const std::vector<Value>>(std::move(tensors)), a.call);
}

auto make_workload_key(Evaluator& e, const Arguments& a) -> Value {
  eval::BoundArguments b;
  if (!eval::bind_arguments(e, "make_workload_key", a, {{Name("func")}, {Name("args")}}, b)) { return b.unknown; }
  const auto* function = b.values[0].value.as<eval::Function>();
  const auto* arguments = b.values[1].value.items();
  if (!function || !arguments) { return e.opaque(a.call); }
  const Value tensors = e.call(b.values[0].value, *arguments, a.call);
  if (!tensors.items()) { return tensors.is_unknown() ? tensors : e.opaque(a.call); }
  return Value(eval::make_object<KeyObject>(TaskValue{function->name().str(), *arguments, std::make_shared<const std::vector<Value>>(*tensors.items()), Value(), a.call}));
}

auto task_of_key(const Value& key) -> const TaskValue* {
  const auto* object = key.as<KeyObject>();
  return object ? &object->task : nullptr;
}

namespace {

// The input and the result of the fastest record in a log. The file is read when a statement asks for a member: the value itself may be made before it is known which file runs.
class RecordObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  RecordObject(TaskValue t, eval::Argument p, Origin c) : Object(&type_tag), task(std::move(t)), path(std::move(p)), call(c) {}
  const TaskValue task;
  const eval::Argument path;
  const Origin call;
  auto get_attribute(Evaluator& e, Name member, Origin where) const -> std::optional<Value> override {
    static const Name state("state"), costs("costs");
    if (member == state) { return state_of_best(e); }
    if (!(member == costs)) { return e.opaque(where); }
    auto record = best_record(e, task, path);
    return record ? Value::list({record->seconds.begin(), record->seconds.end()}) : Value::error();
  }
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* name : {"state", "costs"}) { out.emplace_back(name); }
  }
  auto repr() const -> std::string override { return "a record of the auto-scheduler"; }

 private:
  [[nodiscard]] auto state_of_best(Evaluator& e) const -> Value {
    auto record = best_record(e, task, path);
    auto prepared = record ? prepare(e, *task.tensors, call) : std::nullopt;
    if (!prepared) { return Value::error(); }
    State made(*prepared->stages, *task.tensors);
    for (const Step& step : record->steps) {
      std::string why = made.apply(step);
      if (why.empty()) { continue; }
      return e.report(error(Code::RecordRefused, call).arg("number", static_cast<int64_t>(record->number)).arg("file", *path.value.string()).arg("reason", std::move(why))
                          .remedy("use a log of this workload, or of the version of TVM that wrote it"));
    }
    return Value(eval::make_object<StateObject>(std::move(made), task.tensors));
  }
};
const eval::TypeTag RecordObject::type_tag{"a record of the auto-scheduler"};

}  // namespace

auto load_best_record(Evaluator& e, const Arguments& a) -> Value {
  eval::BoundArguments b;
  if (!eval::bind_arguments(e, "load_best_record", a, {{Name("filename")}, {Name("workload_key"), false}, {Name("target"), false}, {Name("include_compatible"), false}}, b)) { return b.unknown; }
  const TaskValue* task = b.given[1] ? task_of_key(b.values[1].value) : nullptr;
  if (!task) { return e.opaque(a.call); }
  const Value record(eval::make_object<RecordObject>(*task, b.values[0], a.call));
  return Value::tuple({record, record});
}

RunningFile::RunningFile(const frontend::File& file) : before_(std::exchange(running, &file)) {}
RunningFile::~RunningFile() { running = before_; }

}  // namespace loopsmith::script::auto_scheduler
