// Calls of written pieces: see call.h.
#include "script/tuner/call.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/objects.h"
#include "ir/ops.h"
#include "script/objects.h"
#include "script/tuner/members.h"
#include "script/tuner/numbers.h"
#include "script/tuner/trace_values.h"
#include "support/codes.h"
#include "support/guards.h"
#include "support/reasons.h"

namespace loopsmith::script {
namespace {

using eval::Value;
using schedule::Schedule;

// A rule that returns more schedules for one block is refused.
constexpr size_t most_results = 256;

auto is_limit(Code code) -> bool { return code == Code::TooMuchWork || code == Code::TooDeep || code == Code::Cancelled; }

/// The kind of a piece, for messages. Runners are classes; a function of this kind makes arguments for the tuner's own.
auto kind_of(const Piece& piece) -> std::string_view { return piece.kind == PieceKind::Runner && piece.function ? "function" : kind_text(piece.kind); }

auto failure(const Piece& piece, Origin where, const Reason& why) -> Diagnostic {
  return error(Code::TunerPiece, where).arg("kind", kind_of(piece)).arg("name", piece.name.view()).arg("reason", why.text());
}

/// The statement at a place in a file, if it is Python that the evaluator does not run; null: another statement.
auto opaque_statement(const frontend::File& file, const Origin& at) -> const syntax::OpaqueStmt* {
  const syntax::OpaqueStmt* found = nullptr;
  auto look = [&](const syntax::Item& item) {
    for (const syntax::Stmt* stmt : item.statements) {
      syntax::walk(*stmt, [&](const syntax::Node& node) {
        if (node.decl == at.decl && node.span.begin == at.begin && node.span.end == at.end && node.kind == syntax::Kind::OpaqueStmt) { found = static_cast<const syntax::OpaqueStmt*>(&node); }
        return found == nullptr;
      });
    }
  };
  for (size_t i = 0; i < file.size() && !found; ++i) { look(*file.item(i)); }
  return found;
}

auto apply_name() -> Name {
  static const Name apply("apply");
  return apply;
}

/// The function of a piece, or the method `apply` of its class; null: the class has none.
auto method_of(const Piece& piece) -> const eval::Function* {
  if (piece.function) { return piece.function.get(); }
  const Value* found = piece.type ? piece.type->find(apply_name()) : nullptr;
  return found ? found->as<eval::Function>() : nullptr;
}

/// The parameters behind `self`.
auto parameters_of(const Piece& piece) -> size_t {
  const eval::Function* method = method_of(piece);
  const size_t all = method ? method->params().size() : 0;
  return piece.function ? all : all - std::min<size_t>(1, all);
}

/// One call of the method `apply`, or of the function.
class Call {
 public:
  /// Values that the call makes may outlive it in attributes of the piece, so they belong to the heap of the file.
  Call(const Piece& piece, frontend::File& file) : piece_(piece), file_(file), evaluator_(file.evaluator().heap()) {}

  /// None: it failed, with the reasons in `take_errors`.
  auto run(std::vector<Value> values) -> std::optional<Value> {
    const std::optional<Value> callee = function();
    return callee ? run(*callee, std::move(values)) : std::nullopt;
  }
  auto run_method(Name method, std::vector<Value> values) -> std::optional<Value> {
    const std::optional<Value> callee = piece_.get_attribute(evaluator_, method, piece_.where);
    return callee ? run(*callee, std::move(values)) : std::nullopt;
  }

  auto run(const Value& callee, std::vector<Value> values) -> std::optional<Value> {
    const bool is_model = piece_.kind == PieceKind::CostModel || piece_.kind == PieceKind::Builder || piece_.kind == PieceKind::Runner || piece_.kind == PieceKind::TaskScheduler;
    evaluator_.limits = is_model ? model_limits() : piece_limits();
    evaluator_.globals = &file_;
    evaluator_.not_called = [this, is_model](const Value& called, const syntax::CallExpr& written, const eval::Arguments& arguments) -> std::optional<Value> {
      if (is_model) {
        if (auto made = call_of_numpy(evaluator_, *written.callee, arguments, piece_.random_state)) { return made; }
      }
      leave_out_call(called, *written.callee, arguments);
      return std::nullopt;
    };
    Value result = evaluator_.call(callee, std::move(values), piece_.where);
    if (std::any_of(evaluator_.diagnostics.begin(), evaluator_.diagnostics.end(), [](const Diagnostic& d) { return is_limit(d.code); })) { piece_.is_closed = true; }
    if (has_failed()) { return std::nullopt; }
    if (result.is_unknown()) {
      unknown();
      return std::nullopt;
    }
    return result;
  }

  /// Adds the error of a result that is unknown since the piece uses Python that is not run here.
  void unknown() {
    const Origin at = evaluator_.opaque_at.is_known() ? evaluator_.opaque_at : piece_.where;
    // Statements that raise end here: pieces catch nothing.
    const syntax::OpaqueStmt* statement = opaque_statement(file_, at);
    const bool raises = statement && statement->what == "raise";
    fail(at, because(raises ? Why::RaisesException : Why::UsesOpaquePython));
  }
  void fail(Origin where, const Reason& why) { (void)evaluator_.report(failure(piece_, where, why)); }
  void wrong_result(const Value& result, const char* wanted) {
    fail(piece_.where, because(Why::ReturnsInstead).arg("found", result.is_none() ? "nothing" : eval::describe(result)).arg("wanted", wanted));
  }

  [[nodiscard]] auto evaluator() -> eval::Evaluator& { return evaluator_; }
  [[nodiscard]] auto has_failed() const -> bool { return has_errors(evaluator_.diagnostics); }
  /// The errors, each with a note that names the piece; hints are left out.
  auto take_errors() -> Diagnostics {
    Diagnostics out;
    for (Diagnostic& d : evaluator_.diagnostics) {
      if (d.severity != Severity::Error) { continue; }
      if (d.code != Code::TunerPiece) { (void)std::move(d).note(piece_.where, "in the " + std::string(kind_of(piece_)) + " `" + piece_.name.str() + "`"); }
      if (is_limit(d.code)) { (void)std::move(d).remedy("end the loop or the recursion: the " + std::string(kind_of(piece_)) + " is not called again"); }
      out.push_back(std::move(d));
    }
    return out;
  }

 private:
  auto function() -> std::optional<Value> {
    const eval::Function* method = method_of(piece_);
    if (!method) {
      fail(piece_.where, because(Why::NoMethod).arg("method", "apply"));
      return std::nullopt;
    }
    return piece_.function ? Value(Ref<eval::Object>(method)) : piece_.get_attribute(evaluator_, apply_name(), piece_.where);
  }

  const Piece& piece_;
  frontend::File& file_;
  eval::Evaluator evaluator_;
};

/// True where a schedule continues another one: the instructions of the other are its first ones.
auto continues(const Schedule& made, const Schedule& given) -> bool {
  const auto before = given.trace().instructions();
  const auto now = made.trace().instructions();
  return now.size() >= before.size() && std::equal(before.begin(), before.end(), now.begin());
}

template <class T> auto object_of(const Ref<T>& object) -> Value { return Value(Ref<eval::Object>(object.get())); }

}  // namespace

auto initialize(const Piece& piece, frontend::File& file, const Value& context) -> Status {
  for (Name method : {Name("_initialize_with_tune_context"), Name("initialize_with_tune_context")}) {
    if (!piece.type || !piece.type->find(method)) { continue; }
    Call call(piece, file);
    (void)call.run_method(method, {context});
    if (call.has_failed()) { return call.take_errors(); }
  }
  return ok();
}

namespace {

/// The schedules among the values that a rule or a schedule function returns, each of which continues `given`. Mistakes are reported to the call.
auto schedules_in(Call& call, const Piece& piece, const std::vector<Value>& items, const Schedule& given) -> std::vector<Schedule> {
  std::vector<Schedule> out;
  if (items.size() > most_results) { call.fail(piece.where, because(piece.kind == PieceKind::ScheduleRule ? Why::ReturnsSchedulesOfBlock : Why::ReturnsSchedules).arg("most", most_results)); }
  for (const Value& item : items) {
    if (call.has_failed()) { break; }
    const auto* made = item.as<ScheduleObject>();
    if (item.is_unknown() || (made && made->record.is_unknown)) { call.unknown(); }
    else if (!made) { call.fail(piece.where, because(Why::ReturnsListWith).arg("found", eval::describe(item))); }
    else if (!continues(made->schedule, given)) { call.fail(piece.where, because(Why::ReturnsOtherSchedule)); }
    else { out.push_back(made->schedule); }
  }
  return out;
}

auto run_filter(const Piece& filter, frontend::File& file, std::vector<Value> values) -> Result<bool> {
  if (filter.is_closed) { return failure(filter, filter.where, because(Why::NoMoreBlocks)); }
  Call call(filter, file);
  const std::optional<Value> result = call.run(std::move(values));
  // TVM takes numbers, too.
  if (result && !result->to_int()) { call.wrong_result(*result, "True or False"); }
  if (call.has_failed() || !result) { return call.take_errors(); }
  return *result->to_int() != 0;
}

}  // namespace

auto run_block_filter(const Piece& filter, frontend::File& file, const Ref<Block>& block) -> Result<bool> {
  return run_filter(filter, file, {object_of(eval::make_object<frontend::StmtObject>(Stmt(block)))});
}

auto run_tiling_filter(const Piece& filter, frontend::File& file, const Schedule& sch, schedule::BlockRV block) -> Result<bool> {
  LOOPSMITH_TRY(place, sch.get(block));
  return run_filter(filter, file, {object_of(eval::make_object<ScheduleObject>(sch)), sref_value(sch, *place)});
}

auto run_space_function(const Piece& function, frontend::File& file, const Schedule& sch) -> Result<std::vector<Schedule>> {
  Call call(function, file);
  auto object = eval::make_object<ScheduleObject>(sch);
  const std::optional<Value> result = call.run({object_of(object)});
  if (!result) { return call.take_errors(); }
  const bool is_list = result->as<eval::List>() || result->as<eval::Tuple>();
  std::vector<Value> items = is_list ? *result->items() : std::vector<Value>{result->is_none() ? object_of(object) : *result};
  if (items.empty()) { call.fail(function.where, because(Why::ReturnsEmptyList)); }
  if (!is_list && !items[0].as<ScheduleObject>()) { call.wrong_result(*result, "nothing, a schedule or a list of schedules"); }
  std::vector<Schedule> out = schedules_in(call, function, items, sch);
  if (call.has_failed()) { return call.take_errors(); }
  return out;
}

auto run_rule(const Piece& rule, frontend::File& file, const Schedule& sch, schedule::BlockRV block) -> Result<std::vector<Schedule>> {
  if (rule.is_closed) { return std::vector<Schedule>{sch}; }
  Call call(rule, file);
  std::optional<Value> result = call.run({object_of(eval::make_object<ScheduleObject>(sch)), from_schedule(schedule::Value(block))});
  if (!result) { return call.take_errors(); }
  const bool is_list = result->as<eval::List>() || result->as<eval::Tuple>();
  std::vector<Value> items = is_list ? *result->items() : std::vector<Value>{*result};
  // TVM takes only lists; a function in the short form may return its only schedule.
  if (!is_list && !(rule.function && result->as<ScheduleObject>())) { call.wrong_result(*result, "a list of schedules"); }
  else if (items.empty()) { call.fail(rule.where, because(Why::ReturnsNoSchedule)); }
  std::vector<Schedule> out = schedules_in(call, rule, items, sch);
  if (call.has_failed()) { return call.take_errors(); }
  return out;
}

auto run_postproc(const Piece& postproc, frontend::File& file, Schedule& sch) -> Result<bool> {
  if (postproc.is_closed) { return failure(postproc, postproc.where, because(Why::NoMoreSchedules)); }
  Call call(postproc, file);
  auto object = eval::make_object<ScheduleObject>(sch);
  std::optional<Value> result = call.run({object_of(object)});
  if (result && object->record.is_unknown) { call.unknown(); }
  else if (result && !result->is_bool()) { call.wrong_result(*result, "True or False"); }
  if (call.has_failed() || !result) { return call.take_errors(); }
  sch = object->schedule;
  return result->bool_value();
}

auto run_mutator(const Piece& mutator, frontend::File& file, const schedule::Trace& trace, int64_t seed) -> Result<std::optional<schedule::Trace>> {
  if (mutator.is_closed) { return std::optional<schedule::Trace>(); }
  std::vector<Value> values{trace_value(trace)};
  // TVM passes a random state behind the trace; the short form may leave it out.
  if (parameters_of(mutator) > 1) { values.emplace_back(seed); }
  Call call(mutator, file);
  std::optional<Value> result = call.run(std::move(values));
  const schedule::Trace* made = result ? trace_of(*result) : nullptr;
  if (result && !made && !result->is_none()) { call.wrong_result(*result, "a trace or None"); }
  if (call.has_failed() || !result) { return call.take_errors(); }
  return made ? std::optional(*made) : std::nullopt;
}

auto run_predict(const Piece& model, frontend::File& file, const Value& context, const std::vector<Value>& candidates) -> Result<std::vector<double>> {
  if (model.is_closed) { return failure(model, model.where, because(Why::NoMorePredictions)); }
  Call call(model, file);
  if (!model.type || !model.type->find(Name("predict"))) {
    call.fail(model.where, because(Why::NoMethodPredict));
    return call.take_errors();
  }
  const std::optional<Value> result = call.run_method(Name("predict"), {context, Value::list(candidates)});
  if (!result) { return call.take_errors(); }
  std::optional<std::vector<double>> scores = numbers_in(*result);
  // A table with one column is a list for NumPy's users.
  if (const auto* table = result->as<NumberArray>(); table && table->columns == 1) { scores = table->numbers; }
  const std::string wanted = "a list with a number for each of " + std::to_string(candidates.size()) + " candidates";
  if (!scores) { call.wrong_result(*result, wanted.c_str()); }
  else if (scores->size() != candidates.size()) { call.fail(model.where, because(Why::ReturnsNumbers).arg("found", scores->size()).arg("wanted", wanted)); }
  else if (std::any_of(scores->begin(), scores->end(), [](double x) { return !std::isfinite(x); })) { call.fail(model.where, because(Why::ReturnsInfinite)); }
  if (call.has_failed()) { return call.take_errors(); }
  return *std::move(scores);
}

auto run_update(const Piece& model, frontend::File& file, const Value& context, const std::vector<Value>& candidates, const std::vector<Value>& results) -> Status {
  if (model.is_closed || !model.type || !model.type->find(Name("update"))) { return ok(); }
  Call call(model, file);
  // A method that returns nothing of known value has still seen the measurements.
  (void)call.run_method(Name("update"), {context, Value::list(candidates), Value::list(results)});
  if (call.has_failed()) { return call.take_errors(); }
  return ok();
}

namespace {

/// Runs the method of a builder or a runner, which returns a list with an item for each input.
auto items_of(Call& call, const Piece& piece, const char* method, const std::vector<Value>& inputs) -> std::vector<Value> {
  if (piece.is_closed) {
    call.fail(piece.where, because(Why::NotCalledAgain));
    return {};
  }
  if (!piece.type || !piece.type->find(Name(method))) {
    call.fail(piece.where, because(Why::NoMethod).arg("method", method));
    return {};
  }
  const std::optional<Value> result = call.run_method(Name(method), {Value::list(inputs)});
  if (!result) { return {}; }
  const std::vector<Value>* items = result->items();
  const std::string wanted = "a list with a result for each of " + std::to_string(inputs.size()) + " candidates";
  if (!items) { call.wrong_result(*result, wanted.c_str()); }
  else if (items->size() != inputs.size()) { call.fail(piece.where, because(Why::ReturnsResults).arg("found", items->size()).arg("wanted", wanted)); }
  return items && !call.has_failed() ? *items : std::vector<Value>();
}

/// A member of a `BuilderResult` or `RunnerResult`; none: the value is neither.
auto member_of(const Value& value, const char* member) -> std::optional<Value> {
  const auto* result = value.as<eval::Namespace>();
  const Value* found = result ? result->find(Name(member)) : nullptr;
  return found ? std::optional(*found) : std::nullopt;
}

auto error_of(const Value& result) -> std::string {
  const std::optional<Value> text = member_of(result, "error_msg");
  return text && text->string() ? *text->string() : std::string();
}

/// The result of a future: an instance of a class with the methods `done` and `result`. Other values are results.
auto awaited(Call& call, const Value& value) -> std::optional<Value> {
  const auto* future = value.as<Piece>();
  if (!future || !future->type || !future->type->find(Name("result"))) { return value; }
  const std::optional<Value> method = future->get_attribute(call.evaluator(), Name("result"), future->where);
  return method ? call.run(*method, {}) : std::nullopt;
}

}  // namespace

namespace {

/// The elements that a value has for a buffer; none: the value does not fit, which was reported.
auto elements_of(Call& call, const Piece& function, const Value& value, const Buffer& buffer) -> std::optional<std::vector<double>> {
  if (value.is_none()) { return std::vector<double>(); }
  int64_t count = 1;
  for (const Expr& extent : buffer->shape) { count *= as_int(extent).value_or(0); }
  const auto* array = value.as<NumberArray>();
  std::optional<std::vector<double>> out = array ? array->numbers : numbers_in(value);
  if (out && std::ssize(*out) == count) { return out; }
  const std::string found = out ? std::to_string(out->size()) + " numbers" : eval::describe(value);
  call.fail(function.where, because(Why::ReturnsInstead).arg("found", found).arg("wanted", "an array with the " + std::to_string(count) + " elements of `" + buffer->name.str() + "`, or None for random ones"));
  return std::nullopt;
}

}  // namespace

auto run_alloc_argument(const Piece& function, frontend::File& file, const Schedule& program) -> Result<std::vector<std::vector<double>>> {
  Call call(function, file);
  // The first argument is a device of a kind that may call functions of NumPy.
  const std::optional<Value> result = call.run({Value::str("cpu"), arguments_of(program), Value(int64_t{1})});
  if (!result) { return call.take_errors(); }
  const PrimFunc func = program.module()->find(program.func_working_on());
  const std::vector<Value>* repeats = result->items();
  const std::vector<Value>* list = repeats && repeats->size() == 1 ? repeats->front().items() : nullptr;
  const size_t wanted = func ? func->buffer_map.size() : 0;
  if (!list || list->size() != wanted) {
    call.wrong_result(*result, ("a list with one list of " + std::to_string(wanted) + " arguments").c_str());
    return call.take_errors();
  }
  std::vector<std::vector<double>> out;
  for (size_t i = 0; i < wanted; ++i) {
    auto elements = elements_of(call, function, (*list)[i], func->buffer_map[i].second);
    if (!elements) { return call.take_errors(); }
    out.push_back(*std::move(elements));
  }
  return out;
}

auto run_builder(const Piece& builder, frontend::File& file, const std::vector<Value>& inputs) -> Result<std::vector<BuildOutcome>> {
  Call call(builder, file);
  std::vector<BuildOutcome> out;
  for (const Value& item : items_of(call, builder, "build", inputs)) {
    const std::optional<Value> path = member_of(item, "artifact_path");
    if (!path) {
      call.wrong_result(item, "a `BuilderResult` for each candidate");
      break;
    }
    out.push_back({path->string() ? *path->string() : std::string(), error_of(item)});
  }
  if (call.has_failed()) { return call.take_errors(); }
  return out;
}

auto run_runner(const Piece& runner, frontend::File& file, const std::vector<Value>& inputs) -> Result<std::vector<RunOutcome>> {
  Call call(runner, file);
  std::vector<RunOutcome> out;
  for (const Value& item : items_of(call, runner, "run", inputs)) {
    const std::optional<Value> result = awaited(call, item);
    const std::optional<Value> times = result ? member_of(*result, "run_secs") : std::nullopt;
    if (call.has_failed()) { break; }
    if (!times) {
      call.wrong_result(result.value_or(Value()), "a `RunnerResult` for each candidate");
      break;
    }
    const std::optional<std::vector<double>> numbers = times->is_none() ? std::vector<double>() : numbers_in(*times);
    const bool is_right = numbers && std::all_of(numbers->begin(), numbers->end(), [](double x) { return std::isfinite(x) && x > 0; });
    if (!is_right) {
      call.fail(runner.where, because(Why::RunSeconds));
      break;
    }
    RunOutcome one;
    one.error = error_of(*result);
    if (one.error.empty() && numbers->empty()) { one.error = "the runner gave no time"; }
    if (one.error.empty()) { one.seconds = std::accumulate(numbers->begin(), numbers->end(), 0.0) / static_cast<double>(numbers->size()); }
    out.push_back(std::move(one));
  }
  if (call.has_failed()) { return call.take_errors(); }
  return out;
}

namespace {

auto task_record(const TaskFacts& task) -> Value {
  auto context = eval::make_object<eval::Namespace>(Name("context"), any_name);
  add_member(context, "mod", task.program);
  add_member(context, "task_name", Value::str(task.name));
  add_member(context, "target", Value::str(task.target));
  std::vector<Value> latencies;
  int64_t failed = 0;
  for (double seconds : task.trial_seconds) {
    // TVM's number for a candidate without a time.
    constexpr double no_time = 1e9;
    failed += seconds > 0 ? 0 : 1;
    latencies.emplace_back(seconds > 0 ? seconds * 1e3 : no_time);
  }
  auto out = eval::make_object<eval::Namespace>(Name("TaskRecord"), any_name);
  add_member(out, "ctx", value_of(context));
  add_member(out, "task_weight", Value(task.weight));
  add_member(out, "flop", Value(task.flops));
  add_member(out, "is_terminated", Value(task.has_ended));
  add_member(out, "run_error_count", Value(failed));
  add_member(out, "latency_ms", Value::list(std::move(latencies)));
  add_member(out, "runner_futures", Value());
  add_member(out, "builder_results", Value());
  add_member(out, "measure_candidates", Value());
  return value_of(out);
}

}  // namespace

auto run_next_task(const Piece& scheduler, frontend::File& file, const std::vector<TaskFacts>& tasks) -> Result<std::optional<size_t>> {
  if (scheduler.is_closed) { return failure(scheduler, scheduler.where, because(Why::NotCalledAgain)); }
  Call call(scheduler, file);
  if (!scheduler.type || !scheduler.type->find(Name("next_task_id"))) {
    call.fail(scheduler.where, because(Why::NoMethod).arg("method", "next_task_id"));
    return call.take_errors();
  }
  std::vector<Value> records;
  for (const TaskFacts& task : tasks) { records.push_back(task_record(task)); }
  (void)scheduler.set_attribute(call.evaluator(), Name("tasks_"), {Value::list(std::move(records)), scheduler.where, {}}, scheduler.where);
  const std::optional<Value> result = call.run_method(Name("next_task_id"), {});
  if (!result) { return call.take_errors(); }
  const std::optional<int64_t> number = result->is_int() ? std::optional(result->int_value()) : std::nullopt;
  const auto count = static_cast<int64_t>(tasks.size());
  if (!number || *number < -1 || *number >= count) {
    call.wrong_result(*result, ("the number of a task from 0 to " + std::to_string(count - 1) + ", or -1 to end the search").c_str());
  } else if (*number >= 0 && tasks[static_cast<size_t>(*number)].has_ended) {
    call.fail(scheduler.where, because(Why::ReturnsInstead).arg("found", std::to_string(*number) + ", a task that has ended (its `is_terminated` is True),").arg("wanted", "one that goes on"));
  }
  if (call.has_failed()) { return call.take_errors(); }
  return *number < 0 ? std::nullopt : std::optional(static_cast<size_t>(*number));
}

auto rules_for_annotations(frontend::File& file, const std::vector<std::string>& target_keys) -> std::vector<std::pair<std::string, Ref<Piece>>> {
  std::vector<std::pair<std::string, Ref<Piece>>> out;
  static const Name register_func("register_func"), register_global_func("register_global_func");
  for (size_t i = 0; i < file.size(); ++i) {
    const syntax::ItemPtr& item = file.item(i);
    const auto* def = item->statements.size() == 1 ? item->statements[0]->as<syntax::FunctionDef>() : nullptr;
    if (!def) { continue; }
    for (const syntax::Expr* decorator : def->decorators) {
      const auto* call = decorator->as<syntax::CallExpr>();
      const auto* attribute = call ? call->callee->as<syntax::AttributeExpr>() : nullptr;
      const auto* name = call ? call->callee->as<syntax::NameExpr>() : nullptr;
      const Name called = attribute ? attribute->attr.name : name ? name->name : Name();
      const bool registers = (called == register_func || called == register_global_func) && call->args.size() > 0;
      const auto* key = registers ? call->args[0]->as<syntax::StringExpr>() : nullptr;
      if (!key) { continue; }
      for (const std::string& of_target : target_keys) {
        const std::string prefix = "meta_schedule." + of_target + ".";
        if (!key->value.starts_with(prefix)) { continue; }
        Temporarily tree(file.evaluator().tree, std::shared_ptr<const void>(item));
        Temporarily globals(file.evaluator().globals, static_cast<eval::Environment*>(&file));
        const Value made = file.evaluator().make_function(*def, {});
        const auto* function = made.as<eval::Function>();
        if (!function) { continue; }
        const Origin where{def->decl, def->name.span.begin, def->name.span.end, 0};
        out.emplace_back(std::string(key->value).substr(prefix.size()), eval::make_object<Piece>(PieceKind::ScheduleRule, def->name.name, where, Ref<eval::Function>(function)));
      }
    }
    const std::optional<Value> value = file.value(def->name.name);
    const auto* piece = value ? value->as<Piece>() : nullptr;
    if (piece && piece->function && piece->kind == PieceKind::ScheduleRule) { out.emplace_back(piece->name.str(), Ref<Piece>(piece)); }
  }
  return out;
}

}  // namespace loopsmith::script
