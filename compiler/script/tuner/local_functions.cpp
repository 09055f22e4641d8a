// Local builders and runners made of functions: see local_functions.h.
#include "script/tuner/local_functions.h"

#include <algorithm>

#include "script/tuner/members.h"
#include "support/codes.h"

namespace loopsmith::script {
namespace {

using eval::Arguments;
using eval::Evaluator;
using eval::Value;

auto function_in(const eval::Namespace& of, const char* name) -> const eval::Function* {
  const Value* found = of.find(Name(name));
  return found ? found->as<eval::Function>() : nullptr;
}
auto member(const Value& input, const char* name) -> Value {
  const auto* fields = input.as<eval::Namespace>();
  const Value* found = fields ? fields->find(Name(name)) : nullptr;
  return found ? *found : Value();
}
auto called(Evaluator& e, const eval::Function& function, std::vector<Value> values, Origin where) -> Value {
  return e.call(Value(Ref<eval::Object>(&function)), std::move(values), where);
}
auto result(const char* type, const char* field, Value value) -> Value {
  auto out = eval::make_object<eval::Namespace>(Name(type), any_name);
  add_member(out, field, std::move(value));
  add_member(out, "error_msg", Value());
  return value_of(out);
}

// TVM's `EvaluatorConfig()`.
auto usual_config() -> Value {
  auto out = eval::make_object<eval::Namespace>(Name("EvaluatorConfig"), any_name);
  const std::pair<const char*, Value> members[] = {{"number", 3}, {"repeat", 1}, {"min_repeat_ms", 100}, {"enable_cpu_cache_flush", false}};
  for (const auto& [name, value] : members) { add_member(out, name, value); }
  return value_of(out);
}

// `initializer()`, once for each batch. An unknown or wrong value ends the call.
auto initialize(Evaluator& e, const eval::Namespace& of, Origin where) -> Value {
  const eval::Function* initializer = function_in(of, "initializer");
  return initializer ? called(e, *initializer, {}, where) : Value();
}

// `f_build(mod, target, params)` makes a value, and `f_export(value)` the path of the artefact. Without `f_build` the value is the program.
auto build(Evaluator& e, const Value& self, const Arguments& given) -> Value {
  const auto& of = *self.as<eval::Namespace>();
  const eval::Function* make = function_in(of, "f_build");
  const eval::Function* write = function_in(of, "f_export");
  if (Value done = initialize(e, of, given.call); done.is_unknown()) { return done; }
  std::vector<Value> out;
  for (const Value& input : *given.all[0].value.items()) {
    Value made = member(input, "mod");
    if (make) { made = called(e, *make, {made, member(input, "target"), Value()}, given.call); }
    if (!made.is_unknown() && write) { made = called(e, *write, {made}, given.call); }
    if (made.is_unknown()) { return made; }
    out.push_back(result("BuilderResult", "artifact_path", made.string() ? made : Value::str("")));
  }
  return Value::list(std::move(out));
}

// `f_run_evaluator(rt_mod, device, evaluator_config, repeated_args)` returns the seconds of a candidate; then `f_cleanup()`.
auto run(Evaluator& e, const Value& self, const Arguments& given) -> Value {
  const auto& of = *self.as<eval::Namespace>();
  const eval::Function* evaluate = function_in(of, "f_run_evaluator");
  const eval::Function* allocate = function_in(of, "f_alloc_argument");
  const eval::Function* clean = function_in(of, "f_cleanup");
  const Value* config = of.find(Name("evaluator_config"));
  if (Value done = initialize(e, of, given.call); done.is_unknown()) { return done; }
  std::vector<Value> out;
  for (const Value& input : *given.all[0].value.items()) {
    const Value device = member(input, "device_type"), info = member(input, "args_info");
    const size_t count = info.items() ? info.items()->size() : 0;
    Value repeated = allocate ? called(e, *allocate, {device, info, Value(int64_t{1})}, given.call) : Value::list({Value::list(std::vector<Value>(count))});
    if (repeated.is_unknown()) { return repeated; }
    Value seconds = called(e, *evaluate, {member(input, "mod"), device, config ? *config : usual_config(), std::move(repeated)}, given.call);
    if (seconds.is_unknown()) { return seconds; }
    if (seconds.is_none()) {
      const Origin where = evaluate->def ? Origin{evaluate->def->decl, evaluate->def->name.span.begin, evaluate->def->name.span.end, 0} : given.call;
      return e.report(error(Code::WrongType, where).arg("expected", "a list of seconds as the result of `f_run_evaluator`").arg("found", "nothing"));
    }
    if (Value done = clean ? called(e, *clean, {}, given.call) : Value(); done.is_unknown()) { return done; }
    out.push_back(result("RunnerResult", "run_secs", std::move(seconds)));
  }
  return Value::list(std::move(out));
}

// A configuration has no expression of its own: the dictionary of its members stands for it.
auto as_expression(const Value& value) -> Value {
  const auto* config = value.as<eval::Namespace>();
  if (!config) { return value; }
  Ref<eval::Dict> out = eval::make_object<eval::Dict>();
  for (const char* one : {"number", "repeat", "min_repeat_ms", "enable_cpu_cache_flush"}) { out->set(Value::str(one), member(value, one)); }
  return out;
}

}  // namespace

auto piece_of_functions(PieceKind kind, const LocalArguments& given) -> Value {
  auto self = eval::make_object<eval::Namespace>(Name(kind == PieceKind::Builder ? "LocalBuilder" : "LocalRunner"), any_name);
  Arguments arguments;
  Origin where;
  // The first function has the file of the piece (`expression_of`), so it is a member of the class.
  PieceClass::Members members;
  for (const auto& [name, value] : given) {
    add_member(self, name.view(), value);
    arguments.all.push_back({as_expression(value), {}, name});
    const auto* function = value.as<eval::Function>();
    if (!function) { continue; }
    if (members.empty() && function->def) { where = {function->def->decl, function->def->name.span.begin, function->def->name.span.end, 0}; }
    members.emplace_back(name, value);
  }
  const Name method(kind == PieceKind::Builder ? "build" : "run");
  members.emplace_back(method, value_of(eval::make_object<eval::Method>(value_of(self), method, kind == PieceKind::Builder ? build : run)));
  auto type = eval::make_object<PieceClass>(kind, self->name, PieceClass::Origins::Written, where, std::move(members));
  return value_of(eval::make_object<Piece>(std::move(type), std::move(arguments)));
}

}  // namespace loopsmith::script
