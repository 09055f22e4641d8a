// Templates and tasks: see templates.h.
#include "script/autotvm/templates.h"

#include <algorithm>

#include "script/autotvm/config.h"
#include "script/file_calls.h"

namespace loopsmith::script::autotvm {
namespace {

using eval::Arguments;
using eval::Evaluator;
using eval::Value;

auto identity(Evaluator&, const Arguments& a) -> Value { return a.all.empty() ? Value() : a.all.front().value; }
// `autotvm.template(NAME)` does not change the function; the name is read from the syntax of the decorator.
auto decorator(Evaluator&, const Arguments&) -> Value { return Value(eval::make_object<eval::Builtin>(Name("template"), identity)); }

auto split_entity(Evaluator& e, const Arguments& a) -> Value {
  const auto* items = a.all.size() == 1 ? a.all[0].value.items() : nullptr;
  if (!items) { return e.opaque(a.call); }
  Choice choice{.kind = KnobKind::Split, .numbers = {}, .words = {}, .value = {}};
  for (const Value& item : *items) { choice.numbers.push_back(item.to_int().value_or(-1)); }
  return Value(eval::make_object<EntityObject>(std::string(), std::move(choice)));
}
auto value_entity(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.opaque(a.call); }
  return Value(eval::make_object<EntityObject>(std::string(), Choice{.kind = KnobKind::Other, .numbers = {}, .words = {}, .value = a.all[0].value}));
}

// Measuring, tuners and callbacks run only when Python runs.
auto unknown_member(Name) -> std::optional<Value> { return Value::opaque(); }

// The task that a call `task.create(NAME, args=..., target=...)` makes.
auto created(frontend::File& file, const syntax::CallExpr& call, const std::string& name, const syntax::FunctionDef& def) -> std::optional<Task> {
  static const Name create("create"), task("task");
  const auto* callee = call.callee->as<syntax::AttributeExpr>();
  const syntax::Expr* first = written_argument(call, 0, "task_name");
  const syntax::Expr* args = written_argument(call, 1, "args");
  if (!callee || !(callee->attr.name == create) || !(last_name(*callee->object) == task) || !first || !args) { return std::nullopt; }
  bool is_it = last_name(*first) == def.name.name;
  if (!is_it) {
    const Value given = value_in_file(file, *first);
    is_it = given.string() && *given.string() == name;
  }
  const Value values = is_it ? value_in_file(file, *args) : Value();
  if (!values.items()) { return std::nullopt; }
  return Task{name, *values.items(), written_argument(call, 2, "target"), call.origin()};
}

// The task that a direct call of a template means: `matmul(512, 512, 512, "float32")`.
auto called(frontend::File& file, const syntax::CallExpr& call, const std::string& name, const syntax::FunctionDef& def) -> std::optional<Task> {
  const auto* callee = call.callee->as<syntax::NameExpr>();
  if (!callee || !(callee->name == def.name.name) || call.args.empty()) { return std::nullopt; }
  Task task{name, {}, nullptr, call.origin()};
  for (const syntax::Expr* arg : call.args) { task.arguments.push_back(value_in_file(file, *arg)); }
  return task;
}

auto are_known(const std::vector<Value>& values) -> bool {
  return std::none_of(values.begin(), values.end(), [](const Value& value) { return value.is_unknown(); });
}

}  // namespace

auto namespace_autotvm() -> const Value& {
  static thread_local const Value space = [] {
    auto make = [](const char* name) { return eval::make_object<eval::Namespace>(Name(name), unknown_member); };
    auto add = [](const Ref<eval::Namespace>& to, const char* name, Value value) { const_cast<eval::Namespace&>(*to).add(Name(name), std::move(value)); };
    auto builtin = [](const char* name, eval::Builtin::Run run) { return Value(eval::make_object<eval::Builtin>(Name(name), run)); };
    auto autotvm = make("autotvm"), task = make("autotvm.task"), entities = make("autotvm.task.space");
    add(entities, "SplitEntity", builtin("SplitEntity", split_entity));
    add(entities, "OtherOptionEntity", builtin("OtherOptionEntity", value_entity));
    for (const auto& to : {autotvm, task}) {
      add(to, "template", builtin("template", decorator));
      add(to, "get_config", builtin("get_config", get_config));
    }
    add(task, "space", Value(entities));
    add(autotvm, "task", Value(task));
    return Value(autotvm);
  }();
  return space;
}

auto template_name(const syntax::FunctionDef& def) -> std::optional<std::string> {
  static const Name word("template"), autotvm("autotvm"), task("task");
  for (const syntax::Expr* decorator : def.decorators) {
    const auto* call = decorator->as<syntax::CallExpr>();
    const auto* attribute = call ? call->callee->as<syntax::AttributeExpr>() : nullptr;
    Name space = attribute ? last_name(*attribute->object) : Name();
    bool is_template = attribute && attribute->attr.name == word && (space == autotvm || space == task);
    if (!is_template) { continue; }
    const auto* text = call->args.empty() ? nullptr : call->args[0]->as<syntax::StringExpr>();
    return text ? std::string(text->value) : def.name.name.str();
  }
  return std::nullopt;
}

auto find_task(frontend::File& file, const syntax::FunctionDef& def) -> std::optional<Task> {
  auto name = template_name(def);
  if (!name) { return std::nullopt; }
  std::optional<Task> found;
  for (auto* make : {created, called}) {
    each_call(file, [&](const syntax::CallExpr& call) {
      found = make(file, call, *name, def);
      if (found && !are_known(found->arguments)) { found.reset(); }
      return found.has_value();
    });
    if (found) { break; }
  }
  return found;
}

auto asked_search(frontend::File& file) -> AskedSearch {
  static constexpr std::pair<std::string_view, const char*> tuners[] = {{"RandomTuner", "random"}, {"GridSearchTuner", "grid"}, {"GATuner", "genetic"}, {"XGBTuner", "guided"}};
  static const Name tune("tune"), log_to_file("log_to_file");
  AskedSearch out;
  each_call(file, [&](const syntax::CallExpr& call) {
    Name callee = last_name(*call.callee);
    for (const auto& [tuner, search] : tuners) {
      if (callee.view() != tuner) { continue; }
      out.tuner = tuner;
      out.search = search;
    }
    const syntax::Expr* log = callee == log_to_file ? written_argument(call, 0, "file_out") : nullptr;
    const Value path = log ? value_in_file(file, *log) : Value();
    if (path.string()) { out.log = *path.string(); }
    const syntax::Expr* trials = callee == tune && call.callee->as<syntax::AttributeExpr>() ? written_argument(call, 0, "n_trial") : nullptr;
    if (trials) { out.trials = value_in_file(file, *trials).to_int(); }
    return false;
  });
  return out;
}

}  // namespace loopsmith::script::autotvm
