// Tasks of the auto-scheduler: see tasks.h.
#include "script/auto_scheduler/tasks.h"

#include <algorithm>
#include <set>

#include "frontend/objects.h"
#include "ir/ops.h"
#include "script/auto_scheduler/custom_rules.h"
#include "script/auto_scheduler/dag.h"
#include "script/file_calls.h"
#include "script/objects.h"
#include "script/tuner/members.h"
#include "support/codes.h"
#include "support/guards.h"

namespace loopsmith::script::auto_scheduler {
namespace {

using eval::Arguments;
using eval::Evaluator;
using eval::Value;
using frontend::te::Operation;

// The name that TVM takes without an argument.
constexpr const char* usual_log = "auto_scheduler_tuning.json";

auto identity(Evaluator&, const Arguments& a) -> Value { return a.all.empty() ? Value() : a.all.front().value; }
// `@register_workload`, `@register_workload("name")`.
auto register_workload(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.empty()) { return e.opaque(a.call); }
  const Value& first = a.all.front().value;
  return first.string() ? Value(eval::make_object<eval::Builtin>(Name("register_workload"), identity)) : first;
}

auto argument_of(const Arguments& a, size_t place, const char* keyword) -> const eval::Argument* {
  return place < a.positional ? &a.all[place] : a.keyword(Name(keyword));
}

// The target of a task as an attribute of its program, where it is a device. A processor stays the one of this machine.
auto with_target(Evaluator& e, const Value& program, const eval::Argument* given) -> Value {
  const auto* made = program.as<frontend::ProgramObject>();
  if (!made || !given || made->module->functions.size() != 1) { return program; }
  Value target = given->value;
  if (target.string()) {
    const auto* space = frontend::namespace_t().as<eval::Namespace>();
    const Value* maker = space ? space->find(Name("target")) : nullptr;
    WithoutReports quiet(e.diagnostics);
    target = maker ? e.call(*maker, {target}, given->where) : Value::opaque();
  }
  const auto* attribute = target.as<frontend::AttrObject>();
  const std::string text = attribute ? target_text(attribute->attr) : std::string();
  if (text.empty() || text.starts_with("llvm")) { return program; }
  const auto& [name, func] = made->module->functions.front();
  PrimFuncNode fields = *func;
  fields.attrs = with_attr(fields.attrs, Name("target"), attribute->attr);
  return Value(eval::make_object<frontend::ProgramObject>(with_function(made->module, name, make_func(std::move(fields))), made->name, made->is_function, made->where));
}

// `SearchTask(func=F, args=ARGS, target=T)`, `SearchTask(workload_key=KEY, target=T)`: the program that computes the tensors of F(*ARGS).
auto search_task(Evaluator& e, const Arguments& a) -> Value {
  const eval::Argument* func = argument_of(a, 0, "func");
  const eval::Argument* args = argument_of(a, 1, "args");
  const eval::Argument* key = a.keyword(Name("workload_key"));
  const eval::Argument* target = argument_of(a, 2, "target");
  TaskValue task{.workload = {}, .arguments = {}, .tensors = {}, .target = target ? target->value : Value(), .where = a.call};
  if (const TaskValue* known = key ? task_of_key(key->value) : nullptr) {
    task = *known;
    task.target = target ? target->value : Value();
  } else {
    const auto* function = func && args && args->value.items() ? func->value.as<eval::Function>() : nullptr;
    if (!function) { return e.opaque(a.call); }
    Value tensors = e.call(func->value, *args->value.items(), a.call);
    if (!tensors.items()) { return tensors.is_unknown() ? tensors : e.opaque(a.call); }
    task.workload = function->name().str();
    task.arguments = *args->value.items();
    task.tensors = std::make_shared<const std::vector<Value>>(*tensors.items());
  }
  Arguments made;
  made.all.push_back({Value::list(*task.tensors), a.call, {}});
  made.positional = 1;
  made.call = made.callee = made.parentheses = a.call;
  Value program = with_target(e, frontend::te::create_prim_func(e, made), target);
  const auto* object = program.as<frontend::ProgramObject>();
  return object ? with_task(*object, std::move(task)) : program;
}

// `RecordToFile(F)` and `TuningOptions(measure_callbacks=[...])`, of which only the log matters here.
auto record_to_file(Evaluator& e, const Arguments& a) -> Value {
  const eval::Argument* given = argument_of(a, 0, "filename");
  auto out = eval::make_object<eval::Namespace>(Name("RecordToFile"), any_name);
  add_member(out, "filename", given ? given->value : Value::str(usual_log));
  return value_of(out);
}
auto tuning_options(Evaluator&, const Arguments& a) -> Value {
  const eval::Argument* callbacks = a.keyword(Name("measure_callbacks"));
  auto out = eval::make_object<eval::Namespace>(Name("TuningOptions"), any_name);
  add_member(out, "measure_callbacks", callbacks ? callbacks->value : Value::list({}));
  return value_of(out);
}
auto log_of_options(const Value& options) -> std::optional<Value> {
  const auto* given = options.as<eval::Namespace>();
  const Value* callbacks = given ? given->find(Name("measure_callbacks")) : nullptr;
  for (const Value& one : callbacks && callbacks->items() ? *callbacks->items() : std::vector<Value>()) {
    const auto* callback = one.as<eval::Namespace>();
    const Value* file = callback ? callback->find(Name("filename")) : nullptr;
    if (file && file->string()) { return *file; }
  }
  return std::nullopt;
}

// `auto_schedule(task, search_policy, tuning_options)` of the first version of the auto-scheduler: the search is `loopsmith tune`, so the schedule is that of the best record in its log.
auto auto_schedule(Evaluator& e, const Arguments& a) -> Value {
  const eval::Argument* task = argument_of(a, 0, "task");
  const eval::Argument* options = argument_of(a, 2, "tuning_options");
  const std::optional<Value> log = options ? log_of_options(options->value) : std::nullopt;
  if (!task || !log) { return e.opaque(a.call); }
  const Value best = e.attribute(*task, Name("apply_best"), a.call);
  return best.is_unknown() ? best : e.call(best, {*log}, a.call);
}

// Options, cost models and measuring matter only when Python runs.
auto unknown_member(Name) -> std::optional<Value> { return Value::opaque(); }

// The variable of `task = auto_scheduler.SearchTask(...)`.
auto variable_of(frontend::File& file, const syntax::CallExpr& call) -> Name {
  for (size_t i = 0; i < file.size(); ++i) {
    for (const syntax::Stmt* stmt : file.item(i)->statements) {
      const auto* assign = stmt->as<syntax::AssignStmt>();
      const auto* name = assign && assign->value == &call && assign->targets.size() == 1 ? assign->targets[0]->as<syntax::NameExpr>() : nullptr;
      if (name) { return name->name; }
    }
  }
  return {};
}

auto read_task(frontend::File& file, const syntax::CallExpr& call) -> std::optional<Task> {
  const syntax::Expr* func = written_argument(call, 0, "func");
  const syntax::Expr* args = written_argument(call, 1, "args");
  if (!makes_task(call) || !func || !args) { return std::nullopt; }
  const Value function = value_in_file(file, *func), values = value_in_file(file, *args);
  const auto* callee = function.as<eval::Function>();
  if (!callee || !values.items()) { return std::nullopt; }
  Evaluator& evaluator = file.evaluator();
  WithoutReports quiet(evaluator.diagnostics);
  const Value tensors = evaluator.call(function, *values.items(), call.origin());
  if (!tensors.items()) { return std::nullopt; }
  return Task{variable_of(file, call), callee->name().str(), *values.items(), *tensors.items(), call.origin()};
}

}  // namespace

auto namespace_auto_scheduler() -> const Value& {
  static thread_local const Value space = [] {
    auto made = eval::make_object<eval::Namespace>(Name("auto_scheduler"), unknown_member);
    auto& members = const_cast<eval::Namespace&>(*made);
    members.add(Name("register_workload"), Value(eval::make_object<eval::Builtin>(Name("register_workload"), register_workload)));
    members.add(Name("ComputeDAG"), Value(eval::make_object<eval::Builtin>(Name("ComputeDAG"), compute_dag)));
    members.add(Name("make_workload_key"), Value(eval::make_object<eval::Builtin>(Name("make_workload_key"), make_workload_key)));
    members.add(Name("PreloadCustomSketchRule"), custom_rule_type());
    members.add(Name("loop_state"), loop_state_namespace());
    for (const char* name : {"SearchTask", "create_task"}) { members.add(Name(name), builtin(name, search_task)); }
    for (const char* name : {"load_best_record", "load_best"}) { members.add(Name(name), builtin(name, load_best_record)); }
    members.add(Name("RecordToFile"), builtin("RecordToFile", record_to_file));
    members.add(Name("TuningOptions"), builtin("TuningOptions", tuning_options));
    members.add(Name("auto_schedule"), builtin("auto_schedule", auto_schedule));
    return Value(made);
  }();
  return space;
}

auto makes_task(const syntax::CallExpr& call) -> bool {
  const Name name = last_name(*call.callee);
  return name == "SearchTask" || (name == "create_task" && call.callee->as<syntax::AttributeExpr>());
}

auto tasks_of(frontend::File& file) -> std::vector<Task> {
  std::vector<Task> out;
  each_call(file, [&](const syntax::CallExpr& call) {
    if (auto task = read_task(file, call)) { out.push_back(*std::move(task)); }
    return false;
  });
  return out;
}

auto asked_tuning(frontend::File& file, const Task& task) -> AskedTuning {
  static const Name tune("tune"), schedule("auto_schedule"), options("TuningOptions"), record("RecordToFile"), preload("PreloadMeasuredStates");
  AskedTuning out;
  each_call(file, [&](const syntax::CallExpr& call) {
    const auto* attribute = call.callee->as<syntax::AttributeExpr>();
    const auto* object = attribute ? attribute->object->as<syntax::NameExpr>() : nullptr;
    const syntax::Expr* given = last_name(*call.callee) == schedule ? written_argument(call, 0, "task") : nullptr;
    const auto* searched = given ? given->as<syntax::NameExpr>() : object && attribute->attr.name == tune ? object : nullptr;
    out.is_asked = out.is_asked || (searched && searched->name == task.variable);
    if (last_name(*call.callee) == options) {
      if (const syntax::Expr* trials = written_argument(call, 0, "num_measure_trials")) { out.trials = value_in_file(file, *trials).to_int(); }
    }
    if (last_name(*call.callee) == record) {
      const syntax::Expr* path = written_argument(call, 0, "filename");
      const Value value = path ? value_in_file(file, *path) : Value();
      if (value.string()) { out.log = *value.string(); }
    }
    if (last_name(*call.callee) == preload) {
      const syntax::Expr* path = written_argument(call, 0, "filename");
      const Value value = path ? value_in_file(file, *path) : Value();
      if (!path || value.string()) { out.preloaded.push_back(path ? *value.string() : usual_log); }
    }
    return false;
  });
  return out;
}

auto asked_hardware(frontend::File& file, const Task& task) -> AskedHardware {
  static const Name parameters("HardwareParams");
  AskedHardware out;
  each_call(file, [&](const syntax::CallExpr& call) {
    const syntax::Expr* given = makes_task(call) && variable_of(file, call) == task.variable ? written_argument(call, SIZE_MAX, "hardware_params") : nullptr;
    if (!given) { return false; }
    // Written there, or behind a variable of the file.
    each_call(file, [&](const syntax::CallExpr& made) {
      const auto* name = given->as<syntax::NameExpr>();
      const bool is_it = last_name(*made.callee) == parameters && (&made == given || (name != nullptr && variable_of(file, made) == name->name));
      if (!is_it) { return false; }
      auto number = [&](size_t place, const char* keyword) -> std::optional<int64_t> {
        const syntax::Expr* one = written_argument(made, place, keyword);
        const auto value = one ? value_in_file(file, *one).to_int() : std::nullopt;
        return value && *value > 0 && *value <= (1 << 16) ? value : std::nullopt;
      };
      out = {.max_threads_per_block = number(5, "max_threads_per_block"), .max_vthread_extent = number(6, "max_vthread_extent"), .warp_size = number(7, "warp_size")};
      return true;
    });
    return true;
  });
  return out;
}

auto log_of_call(frontend::File& file, const syntax::CallExpr& call) -> std::string {
  static const Name apply("apply_best"), load("load_best"), load_record("load_best_record");
  if (last_name(*call.callee) == Name("auto_schedule")) { return asked_tuning(file, {}).log; }
  const syntax::Expr* path = last_name(*call.callee) == apply ? written_argument(call, 0, "log_file") : nullptr;
  // The record of a state that the call applies.
  each_call(file, [&](const syntax::CallExpr& other) {
    const Name callee = last_name(*other.callee);
    const bool is_it = !path && !(last_name(*call.callee) == apply) && (callee == load || callee == load_record);
    if (is_it) { path = written_argument(other, 0, "filename"); }
    return path != nullptr;
  });
  const Value value = path ? value_in_file(file, *path) : Value();
  return value.string() ? *value.string() : std::string();
}

auto applied_log(frontend::File& file) -> std::string {
  static const Name apply("apply_best"), print("print_best");
  std::string out;
  each_call(file, [&](const syntax::CallExpr& call) {
    const Name callee = last_name(*call.callee);
    const syntax::Expr* path = call.callee->as<syntax::AttributeExpr>() && (callee == apply || callee == print) ? written_argument(call, 0, "log_file") : nullptr;
    const Value value = path ? value_in_file(file, *path) : Value();
    if (value.string()) { out = *value.string(); }
    return !out.empty();
  });
  return out;
}

auto outputs_of(const std::vector<Value>& tensors) -> std::vector<Ref<Operation>> {
  std::vector<Ref<Operation>> computed;
  std::set<const Operation*> read;
  for (const Value& one : tensors) {
    const auto* tensor = one.as<frontend::te::TensorObject>();
    if (!tensor || tensor->op->kind == Operation::Kind::Placeholder) { continue; }
    if (std::find(computed.begin(), computed.end(), tensor->op) == computed.end()) { computed.push_back(tensor->op); }
    for (const Ref<Operation>& input : tensor->op->inputs) { read.insert(input.get()); }
  }
  std::erase_if(computed, [&](const Ref<Operation>& op) { return read.contains(op.get()); });
  return computed;
}

}  // namespace loopsmith::script::auto_scheduler
