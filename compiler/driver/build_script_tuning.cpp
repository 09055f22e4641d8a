// The functions of build scripts that tune: `tune`, and TVM's `ms.tune_tir`, `ms.tune_tasks`, `ms.TuneContext` and `ms.tir_integration.compile_tir`. Each runs
// `loopsmith tune` in a process of its own. A parameter of TVM that has no counterpart here is an error, unless its value is TVM's default.
#include <algorithm>

#include <fmt/format.h>

#include "driver/build_script_logs.h"
#include "driver/build_script_models.h"
#include "driver/build_script_state.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "script/objects.h"
#include "script/tuner/candidates.h"
#include "script/tuner/pieces.h"
#include "script/tuner/spaces.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/text.h"

namespace loopsmith::driver::build_script {
namespace {

/// The texts of lists and spaces for the options of `loopsmith tune`, and the file that defines the written ones.
class PieceLists {
 public:
  PieceLists(Evaluator& e, std::vector<std::string>& argv) : e_(e), argv_(argv) {}

  /// A list of pieces, or a word such as "default". False: an error was reported.
  auto add(const Argument& list, const char* option) -> bool {
    if (list.value.is_none()) { return true; }
    std::string text;
    const bool is_list = list.value.items() != nullptr;
    for (const Value& item : is_list ? *list.value.items() : std::vector<Value>{list.value}) {
      if (!item.string() && !item.as<script::Piece>() && !item.as<script::PieceClass>()) {
        return wrong(e_, {item, list.where, {}}, "pieces of the tuner: `ms.schedule_rule.AutoInline(...)`, a class with `@ms.derived_object`, or a function with `@ls.rule`"), false;
      }
      // A word names a piece of the file.
      auto one = item.string() ? item.string()[0] : text_of(item, list);
      if (!one) { return false; }
      text += (text.empty() ? "" : ",") + *one;
    }
    argv_.insert(argv_.end(), {option, text});
    return true;
  }
  /// A dictionary of mutators with their shares.
  auto add_mutators(const Argument& probabilities) -> bool {
    const auto* dict = probabilities.value.as<eval::Dict>();
    if (!dict) { return add(probabilities, "--mutators"); }
    for (const auto& [key, share] : dict->entries()) {
      if (!share.to_float()) { return wrong(e_, probabilities, "a dictionary with the share of each mutator"), false; }
    }
    return add_value(probabilities, "--mutators");
  }
  /// A space: `PostOrderApply(...)` and its like, or a schedule function.
  auto add_space(const Argument& space) -> bool {
    if (!space.value.as<eval::Function>()) { return add_value(space, "--space"); }
    auto text = text_of(space.value, space);
    if (text) { argv_.insert(argv_.end(), {"--space", "ScheduleFn(" + *text + ")"}); }
    return text.has_value();
  }
  /// A cost model: a name, one of TVM's, or a class of the file.
  auto add_model(const Argument& model) -> bool {
    if (const std::string* word = model.value.string()) { return argv_.insert(argv_.end(), {"--model", *word == "xgb" ? "xgboost" : *word}), true; }
    if (const auto* choice = model.value.as<script::ModelChoice>()) {
      argv_.insert(argv_.end(), {"--model", choice->file.empty() ? choice->model : BuildScript::of(e_).path(choice->file)});
      return true;
    }
    const auto* piece = model.value.as<script::Piece>();
    const auto* type = model.value.as<script::PieceClass>();
    const bool is_model = (piece && piece->kind == script::PieceKind::CostModel) || (type && type->kind == script::PieceKind::CostModel);
    if (is_model && !model_in_search_.begin(e_, model.value, argv_)) { return e_.report(error(Code::CannotWrite, model.where).arg("file", "the state of the model").arg("reason", because(Why::DiskOrFolder).text())), false; }
    if (!is_model) { return wrong(e_, model, "the name of a model: \"xgb\", \"random\", or one of `loopsmith tune --model`; or a class that derives from `ms.cost_model.PyCostModel`"), false; }
    return add_value(model, "--model");
  }
  static auto is_piece(const Value& value, script::PieceKind kind) -> bool {
    const auto* piece = value.as<script::Piece>();
    const auto* type = value.as<script::PieceClass>();
    return (piece && piece->kind == kind) || (type && type->kind == kind);
  }
  /// A task scheduler of the file.
  auto add_scheduler(const Argument& given) -> bool { return add_value(given, "--scheduler"); }
  /// A builder or a runner: "local", or a class of the file.
  auto add_runner(const Argument* given, script::PieceKind kind, const char* option, const char* expected) -> bool {
    const std::string* word = given ? given->value.string() : nullptr;
    if (!given || (word && *word == "local")) { return true; }
    if (const auto* local = given->value.as<script::LocalWorkers>(); local && local->kind == kind) {
      if (local->limit_seconds > 0) { argv_.insert(argv_.end(), {kind == script::PieceKind::Builder ? "--build-limit" : "--measure-limit", fmt::format("{}", local->limit_seconds)}); }
      return local->alloc_argument.is_none() || add_value({local->alloc_argument, given->where, {}}, "--arguments");
    }
    if (is_piece(given->value, kind)) { return add_value(*given, option); }
    return wrong(e_, *given, expected), false;
  }
  /// Ends the search: a model of the script takes its attributes back.
  void end() const { model_in_search_.end(); }
  /// Names the file of the pieces.
  void finish() {
    if (!file_.empty()) { argv_.insert(argv_.end(), {"--pieces", file_}); }
  }

 private:
  auto add_value(const Argument& a, const char* option) -> bool {
    auto text = text_of(a.value, a);
    if (text) { argv_.insert(argv_.end(), {option, *text}); }
    return text.has_value();
  }
  auto text_of(const Value& value, const Argument& at) -> std::optional<std::string> {
    std::vector<const eval::Function*> functions;
    auto text = script::expression_of(value, &functions);
    if (!text) { return wrong(e_, {value, at.where, {}}, "a value that `loopsmith tune` reads (its functions by `def` at the top of the file)"), std::nullopt; }
    for (const eval::Function* function : functions) {
      std::string file = file_of(function);
      if (file.empty() || (!file_.empty() && file != file_)) {
        return e_.report(error(Code::WrongType, at.where).arg("expected", "the pieces of a search from the top of one file: this script, or one that it loads").arg("found", "pieces of several files")), std::nullopt;
      }
      file_ = std::move(file);
    }
    return text;
  }
  auto file_of(const eval::Function* function) -> std::string {
    BuildScript& script = BuildScript::of(e_);
    if (function->globals == &script) { return script.request.path == "-" ? std::string() : script.request.path; }
    for (const auto& [path, value] : script.loaded) {
      const auto* file = value.as<LoadedFile>();
      if (file && function->globals == &file->file->document().file()) { return path; }
    }
    return {};
  }

  Evaluator& e_;
  std::vector<std::string>& argv_;
  std::string file_;
  ModelInSearch model_in_search_;
};

/// The result of a search, as attributes: the program under the schedule that was found, and its facts.
auto outcome_of(Evaluator& e, const Argument& what, const std::string& path, const Name& called, const json& done, Origin call) -> Value {
  BuildScript& script = BuildScript::of(e);
  auto text = read_file(path);
  std::string name = done.value("name", "");
  std::string tuned = script.scratch() + "/tuned.tir";
  std::string schedule = done.value("schedule_text", "");
  if (!text || !write_file(tuned, *text + "\n\n" + schedule)) { return e.report(error(Code::CannotWrite, call).arg("file", tuned).arg("reason", because(Why::DiskOrFolder).text())); }
  auto file = SourceFile::read(tuned);
  auto run = file ? (*file)->document().run_schedule(name) : Result<script::ScheduleRun>(file.diagnostics());
  if (!run || !run->result) { return e.report(error(Code::Internal, call).arg("what", "the schedule that `tune` found does not apply")); }
  bool bare = what.value.as<frontend::ProgramObject>() ? what.value.as<frontend::ProgramObject>()->is_function : run->result->module()->functions.size() == 1;
  std::vector<std::pair<Name, Value>> fields = {
      {Name("program"), eval::make_object<frontend::ProgramObject>(run->result->module(), called, bare, call)},
      {Name("seconds"), value_of(done.value("best_seconds", json()))},
      {Name("plain_seconds"), value_of(done.value("plain_seconds", json()))},
      {Name("trials"), value_of(done.value("trials", json()))},
      {Name("verified"), value_of(done.value("verified", json()))},
      {Name("schedule"), Value::str(schedule)},
      {Name("sch"), eval::make_object<script::ScheduleObject>(*run->result)},
      {Name("source"), what.value}};
  return eval::make_object<Outcome>(std::move(fields));
}

/// The result in a dry run.
auto planned_outcome(const Argument& what) -> Value {
  return eval::make_object<Outcome>(std::vector<std::pair<Name, Value>>{
      {Name("program"), what.value}, {Name("seconds"), 0.0}, {Name("plain_seconds"), 0.0}, {Name("trials"), 0},
      {Name("verified"), Value::str("")}, {Name("schedule"), Value::str("")}, {Name("source"), what.value}});
}

/// False: the diagnostics were reported at the call.
auto report_status(Evaluator& e, const Status& status, Origin call) -> bool {
  if (status.ok()) { return true; }
  for (Diagnostic d : status.diagnostics()) {
    d.where = call;
    e.report(std::move(d));
  }
  return false;
}

void report_tuned(Evaluator& e, const std::string& name, const json& done) {
  if (BuildScript::of(e).request.json) { return; }
  fmt::print("{}: {}, {}\n", name, duration_text(done.value("best_seconds", 0.0)), count_text(done.value("trials", 0), "trial"));
  std::fflush(stdout);
}

/// The text of a task's file, for its log.
auto program_text(const Subject& found) -> std::string {
  auto text = read_file(found.files[0]);
  return text.ok() ? *text : std::string();
}

/// Runs the search, and returns its result with the program under the schedule that was found. `folder`: gets the log of the search; empty: there is none.
auto finish_tune(Evaluator& e, const Argument& what, const Subject& found, std::vector<std::string> argv, Origin call, const std::string& folder = {}) -> Value {
  BuildScript& script = BuildScript::of(e);
  if (script.request.dry_run) {
    fmt::print("would tune {}\n", fs::path(found.files[0]).stem().string());
    return planned_outcome(what);
  }
  auto ran = command(e, std::move(argv), call);
  if (!ran) { return Value::error(); }
  json done;
  std::string message;
  TaskLog log{found.names.empty() ? "main" : found.names[0], program_text(found), 1, {}};
  for (const json& line : ran->first) {
    if (line.value("event", "") == "done") { done = line; }
    if (line.value("event", "") == "done" || line.value("event", "") == "progress") { log.events.push_back(line); }
    message = line.value("message", message);
  }
  if (!folder.empty() && !report_status(e, write_logs(folder, {log}), call)) { return Value::error(); }
  if (!ran->second.succeeded() || !done.is_object()) { return command_failed(e, call, "tune", ran->second, message); }
  report_tuned(e, found.names.empty() ? found.files[0] : found.names[0], done);
  return outcome_of(e, what, found.files[0], found.names.empty() ? Name(done.value("name", "")) : Name(found.names[0]), done, call);
}

/// A task of TVM's tuner.
class TuneContext final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  TuneContext(Argument m, Argument t, Argument sp, Argument se, std::string n)
      : Object(&type_tag), mod(std::move(m)), target(std::move(t)), space(std::move(sp)), search(std::move(se)), name(std::move(n)) {}
  const Argument mod, target, space, search;
  const std::string name;
  auto get_attribute(Evaluator& e, Name member, Origin at) const -> std::optional<Value> override {
    if (member == Name("mod")) { return mod.value; }
    if (member == Name("target")) { return target.value; }
    if (member == Name("task_name")) { return Value::str(name); }
    return e.opaque(at);
  }
  auto repr() const -> std::string override { return "<ms.TuneContext " + name + ">"; }
};
const eval::TypeTag TuneContext::type_tag{"context of the tuner"};

/// The arguments that `tune_tir` and `tune_tasks` share.
struct Common { std::vector<Parameter> parameters; };
auto common_parameters(std::vector<Parameter> first, std::initializer_list<const char*> last) -> std::vector<Parameter> {
  for (const char* name : {"max_trials_per_task", "num_trials_per_iter", "builder", "runner", "database", "cost_model", "measure_callbacks", "task_scheduler", "module_equality"}) {
    first.push_back({Name(name), false});
  }
  for (const char* name : last) { first.push_back({Name(name), false}); }
  return first;
}

/// Arguments by the names of their parameters.
class Given {
 public:
  Given(const std::vector<Parameter>& parameters, const BoundArguments& bound) : parameters_(parameters), bound_(bound) {}
  /// Null: the argument is not given, or None.
  auto find(std::string_view name) const -> const Argument* {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].name.view() == name) { return bound_.given[i] && !bound_.values[i].value.is_none() ? &bound_.values[i] : nullptr; }
    }
    return nullptr;
  }

 private:
  const std::vector<Parameter>& parameters_;
  const BoundArguments& bound_;
};

/// Reports an argument that is not one of the allowed words.
auto is_one_of(Evaluator& e, const Argument* a, std::initializer_list<std::string_view> words, const char* expected) -> bool {
  if (!a) { return true; }
  const std::string* text = a->value.string();
  if (text && std::find(words.begin(), words.end(), *text) != words.end()) { return true; }
  (void)wrong(e, *a, expected);
  return false;
}

/// The options for TVM's parameters that are the same in all calls. False: an error was reported.
auto add_common(Evaluator& e, const Given& given, size_t tasks, PieceLists& pieces, std::vector<std::string>& argv) -> bool {
  const Argument* global = given.find("max_trials_global");
  const Argument* per_task = given.find("max_trials_per_task");
  for (const Argument* a : {global, per_task, given.find("num_trials_per_iter")}) {
    if (a && (!a->value.is_int() || a->value.int_value() < 1)) { return wrong(e, *a, "a number of at least 1"), false; }
  }
  int64_t trials = global ? global->value.int_value() : 0;
  if (per_task) { trials = std::min(trials, per_task->value.int_value() * static_cast<int64_t>(tasks)); }
  argv.insert(argv.end(), {"--trials", std::to_string(trials)});
  if (const Argument* batch = given.find("num_trials_per_iter")) { argv.insert(argv.end(), {"--batch", std::to_string(std::min<int64_t>(batch->value.int_value(), 4096))}); }
  if (!pieces.add_runner(given.find("builder"), script::PieceKind::Builder, "--builder", "\"local\", or a class that derives from `ms.builder.PyBuilder`") ||
      !pieces.add_runner(given.find("runner"), script::PieceKind::Runner, "--runner", "\"local\", or a class that derives from `ms.runner.PyRunner`") || !is_one_of(e, given.find("database"), {"json", "memory"}, "\"json\" or \"memory\": the records go to `work_dir`") ||
      !is_one_of(e, given.find("measure_callbacks"), {"default"}, "\"default\"") ||
      !is_one_of(e, given.find("module_equality"), {"structural"}, "\"structural\"")) {
    return false;
  }
  const Argument* scheduler = given.find("task_scheduler");
  const std::string* word = scheduler ? scheduler->value.string() : nullptr;
  const bool is_written = scheduler && PieceLists::is_piece(scheduler->value, script::PieceKind::TaskScheduler);
  if (scheduler && !is_written && (!word || (!word->starts_with("gradient") && *word != "round-robin"))) {
    return wrong(e, *scheduler, "\"gradient\", \"round-robin\", `ms.task_scheduler.GradientBased(alpha=..., window_size=...)`, or a class that derives from `ms.task_scheduler.PyTaskScheduler`"), false;
  }
  // One task gets all trials. Without a word the scheduler is TVM's default.
  if (tasks > 1 && is_written && !pieces.add_scheduler(*scheduler)) { return false; }
  if (tasks > 1 && !is_written) { argv.insert(argv.end(), {"--scheduler", word ? *word : "gradient"}); }
  const Argument* model = given.find("cost_model");
  return !model || pieces.add_model(*model);
}

/// `--target`, `--space` and `--search` for the values of a task. False: an error was reported.
auto add_task(Evaluator& e, const Argument* target, const Argument* space, const Argument* search, PieceLists& pieces, std::vector<std::string>& argv) -> bool {
  if (target) {
    const auto* object = target->value.as<frontend::AttrObject>();
    const Attr* written = object ? target_attr(object->attr) : nullptr;
    const std::string* text = target->value.string();
    if (!written && !text) { return wrong(e, *target, "a target"), false; }
    argv.insert(argv.end(), {"--target", written ? script::target_text(*written) : *text});
  }
  if (!space) {
    argv.insert(argv.end(), {"--space", "post-order-apply"});
  } else if (const std::string* word = space->value.string()) {
    argv.insert(argv.end(), {"--space", *word});
  } else if (!pieces.add_space(*space)) {
    return false;
  }
  const std::string* word = search ? search->value.string() : nullptr;
  if (search && !word) { return wrong(e, *search, "a search: \"evolutionary\", `ms.search_strategy.ReplayTrace()`, or a name of `loopsmith tune --search`"), false; }
  argv.insert(argv.end(), {"--search", !word ? "evolutionary" : *word == "replay-func" ? "replay-trace" : *word});
  return true;
}

/// The options for the folder of the records. Empty: an error was reported.
auto add_folder(Evaluator& e, const Argument& work_dir, std::vector<std::string>& argv) -> std::string {
  BuildScript& script = BuildScript::of(e);
  const std::string* text = work_dir.value.string();
  if (!text) { return (void)wrong(e, work_dir, "a path"), std::string(); }
  std::string folder = script.path(*text);
  std::error_code problem;
  if (!script.request.dry_run) { fs::create_directories(folder, problem); }
  argv.insert(argv.end(), {"--db", folder + "/tuning.db"});
  return folder;
}

/// Leaves the records of a folder in the form of TVM's database, too.
auto export_records(Evaluator& e, const std::string& folder, Origin call) -> bool {
  return command(e, {"db", "export", "--db", folder + "/tuning.db", "--format", "metaschedule", "--output", folder, "--json"}, call).has_value();
}

}  // namespace

auto run_tune(Evaluator& e, const eval::Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"what"}, {"trials", false}, {"time", false}, {"target", false}, {"db", false},
                                                    {"function", false}, {"seed", false}, {"insert", false}, {"name", false},
                                                    {"space", false}, {"schedule", false}, {"search", false}, {"effort", false}, {"keep_order", false},
                                                    {"sch_rules", false}, {"postprocs", false}, {"mutator_probs", false}, {"model", false}};
  BoundArguments b;
  if (!bind_arguments(e, "tune", a, parameters, b)) { return b.unknown; }
  BuildScript& script = BuildScript::of(e);
  auto found = subject(e, b.values[0], b.values[8], script.scratch());
  if (!found) { return Value::error(); }
  if (found->files.size() != 1) { return wrong(e, b.values[0], "a path, a file or one program"); }
  std::vector<std::string> argv = {"tune", found->files[0], "--json"};
  PieceLists pieces(e, argv);
  const Argument& space = b.values[9];
  const bool is_made_space = b.given[9] && (space.value.as<script::SpaceGenerator>() || space.value.as<eval::Function>());
  if (is_made_space && !pieces.add_space(space)) { return Value::error(); }
  if ((!is_made_space && !options(e, b, {{9, "--space"}}, argv)) ||
      !options(e, b, {{1, "--trials"}, {2, "--time"}, {3, "--target"}, {5, "--function"}, {6, "--seed"}, {7, "--insert"}, {10, "--with"},
                      {11, "--search"}, {12, "--effort"}, {13, "--keep-order"}}, argv) ||
      !path_option(e, b, 4, "--db", ":memory:", argv)) {
    return Value::error();
  }
  if (b.given[17] && !b.values[17].value.is_none() && !pieces.add_model(b.values[17])) { return Value::error(); }
  if (!pieces.add(b.values[14], "--rules") || !pieces.add(b.values[15], "--postprocs") || !pieces.add_mutators(b.values[16])) { return Value::error(); }
  pieces.finish();
  Value out = finish_tune(e, b.values[0], *found, std::move(argv), a.call);
  pieces.end();
  return out;
}

auto run_tune_tir(Evaluator& e, const eval::Arguments& a) -> Value {
  static const std::vector<Parameter> parameters =
      common_parameters({{"mod"}, {"target"}, {"work_dir"}, {"max_trials_global"}}, {"space", "strategy", "num_tuning_cores", "seed", "special_space"});
  BoundArguments b;
  if (!bind_arguments(e, "tune_tir", a, parameters, b)) { return b.unknown; }
  const Given given(parameters, b);
  BuildScript& script = BuildScript::of(e);
  auto found = subject(e, b.values[0], {}, script.scratch());
  if (!found) { return Value::error(); }
  if (found->files.size() != 1) { return wrong(e, b.values[0], "a path, a file or one program"); }
  std::vector<std::string> argv = {"tune", found->files[0], "--json"};
  const std::string folder = add_folder(e, b.values[2], argv);
  PieceLists pieces(e, argv);
  const Argument* space = given.find("space");
  // The special space of the only task.
  Argument special;
  if (const Argument* by_name = given.find("special_space")) {
    const auto* dict = by_name->value.as<eval::Dict>();
    if (!dict) { return wrong(e, *by_name, "a dictionary with the spaces of functions"); }
    for (const auto& [name, value] : dict->entries()) {
      const bool is_this = name.string() && (*name.string() == "main" || (!found->names.empty() && *name.string() == found->names[0]));
      if (!is_this) { return wrong(e, {name, by_name->where, {}}, "the name of the function that is tuned"); }
      special = {value, by_name->where, {}};
      space = &special;
    }
  }
  if (folder.empty() || !add_common(e, given, 1, pieces, argv) || !add_task(e, given.find("target"), space, given.find("strategy"), pieces, argv)) { return Value::error(); }
  if (const Argument* cores = given.find("num_tuning_cores"); cores && cores->value.is_int()) {
    argv.insert(argv.end(), {"--workers", cores->value.repr()});
  } else if (!is_one_of(e, cores, {"physical", "logical"}, "\"physical\", \"logical\" or a number")) {
    return Value::error();
  }
  if (const Argument* seed = given.find("seed")) {
    if (!seed->value.is_int()) { return wrong(e, *seed, "an integer"); }
    argv.insert(argv.end(), {"--seed", seed->value.repr()});
  }
  pieces.finish();
  Value out = finish_tune(e, b.values[0], *found, std::move(argv), a.call, folder);
  pieces.end();
  if (out.is_unknown() || script.request.dry_run) { return out; }
  return export_records(e, folder, a.call) ? out : Value::error();
}

auto run_tune_context(Evaluator& e, const eval::Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"mod"}, {"target", false}, {"space_generator", false}, {"search_strategy", false}, {"task_name", false}, {"rand_state", false},
                                                    {"num_threads", false}, {"logger", false}};
  BoundArguments b;
  if (!bind_arguments(e, "TuneContext", a, parameters, b)) { return b.unknown; }
  const Given given(parameters, b);
  if (!b.values[0].value.as<frontend::ProgramObject>()) { return wrong(e, b.values[0], "a program"); }
  for (const char* name : {"rand_state", "num_threads", "logger"}) {
    const Argument* unused = given.find(name);
    const bool is_default = unused && (unused->value.equals(Value(int64_t{-1})) || (unused->value.string() && (*unused->value.string() == "physical" || *unused->value.string() == "logical")));
    if (unused && !is_default) { return wrong(e, *unused, "TVM's default: seeds, threads and logs are options of `loopsmith tune`"); }
  }
  auto value = [&](size_t i) { return b.given[i] ? b.values[i] : Argument{Value(), a.call, {}}; };
  const std::string* name = b.values[4].value.string();
  return Value(eval::make_object<TuneContext>(b.values[0], value(1), value(2), value(3), name ? *name : std::string(b.values[0].value.as<frontend::ProgramObject>()->name.view())));
}

auto run_tune_tasks(Evaluator& e, const eval::Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = common_parameters({{"tasks"}, {"task_weights"}, {"work_dir"}, {"max_trials_global"}}, {});
  BoundArguments b;
  if (!bind_arguments(e, "tune_tasks", a, parameters, b)) { return b.unknown; }
  const Given given(parameters, b);
  BuildScript& script = BuildScript::of(e);
  const auto* items = b.values[0].value.items();
  std::vector<const TuneContext*> tasks;
  for (const Value& item : items ? *items : std::vector<Value>()) {
    if (const auto* task = item.as<TuneContext>()) { tasks.push_back(task); }
  }
  if (!items || tasks.empty() || tasks.size() != items->size()) { return wrong(e, b.values[0], "a list of `ms.TuneContext(...)`"); }
  const auto* weights = b.values[1].value.items();
  if (!weights || weights->size() != tasks.size()) { return wrong(e, b.values[1], "a list with the weight of each task"); }
  std::string weight_list;
  for (const Value& weight : *weights) {
    const auto number = weight.to_float();
    if (!number || !(*number >= 0 && *number <= 1e9)) { return wrong(e, {weight, b.values[1].where, {}}, "a weight from 0 on for each task"); }
    weight_list += (weight_list.empty() ? "" : ",") + weight.repr();
  }
  std::vector<std::string> argv = {"tune"};
  std::vector<Subject> subjects;
  std::vector<TaskLog> logs;
  for (const TuneContext* task : tasks) {
    const auto same = [](const Argument& x, const Argument& y) { return x.value.equals(y.value) || x.value.repr() == y.value.repr(); };
    if (!same(task->target, tasks[0]->target) || !same(task->space, tasks[0]->space) || !same(task->search, tasks[0]->search)) {
      return wrong(e, b.values[0], "tasks with the same target, space and search");
    }
    auto one = subject(e, task->mod, {Value::str(task->name), b.values[0].where, {}}, script.scratch());
    if (!one) { return Value::error(); }
    argv.push_back(one->files[0]);
    logs.push_back({task->name, program_text(*one), (*weights)[logs.size()].to_float().value_or(1), {}});
    subjects.push_back(std::move(*one));
  }
  argv.insert(argv.end(), {"--all", "--json", "--weights", weight_list});
  const std::string folder = add_folder(e, b.values[2], argv);
  PieceLists pieces(e, argv);
  auto present = [](const Argument& x) { return x.value.is_none() ? nullptr : &x; };
  if (folder.empty() || !add_common(e, given, tasks.size(), pieces, argv) || !add_task(e, present(tasks[0]->target), present(tasks[0]->space), present(tasks[0]->search), pieces, argv)) { return Value::error(); }
  pieces.finish();
  std::vector<Value> results;
  if (script.request.dry_run) {
    for (const TuneContext* task : tasks) {
      fmt::print("would tune {}\n", task->name);
      results.push_back(planned_outcome(task->mod));
    }
    return Value::list(std::move(results));
  }
  auto ran = command(e, std::move(argv), a.call);
  if (!ran) { return Value::error(); }
  pieces.end();
  std::string message;
  for (const json& line : ran->first) {
    message = line.value("message", message);
    for (TaskLog& log : logs) { if (log.name == line.value("program", "")) { log.events.push_back(line); } }
    if (line.value("event", "") != "task" || line.value("schedule_text", "").empty()) { continue; }
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (subjects[i].files[0] != line.value("file", "")) { continue; }
      report_tuned(e, tasks[i]->name, line);
      Value one = outcome_of(e, tasks[i]->mod, subjects[i].files[0], Name(tasks[i]->name), line, a.call);
      if (one.is_unknown()) { return one; }
      results.push_back(std::move(one));
    }
  }
  if (!report_status(e, write_logs(folder, logs), a.call)) { return Value::error(); }
  if (!ran->second.succeeded()) { return command_failed(e, a.call, "tune", ran->second, message); }
  if (!export_records(e, folder, a.call)) { return Value::error(); }
  return Value::list(std::move(results));
}

auto run_scheduler_tune(Evaluator& e, const eval::Arguments& a) -> Value {
  // TVM's method has no folder: the records are in its database.
  static const std::vector<Parameter> parameters = common_parameters({{"self"}, {"tasks"}, {"task_weights"}, {"max_trials_global"}}, {});
  BoundArguments b;
  if (!bind_arguments(e, "tune", a, parameters, b)) { return b.unknown; }
  const std::string folder = BuildScript::of(e).scratch() + "/tasks";
  eval::Arguments all = a;
  all.all.clear();
  all.positional = 0;
  auto add = [&](const char* name, Argument value) {
    value.keyword = Name(name);
    all.all.push_back(std::move(value));
  };
  for (size_t i = 1; i < parameters.size(); ++i) {
    if (b.given[i] && parameters[i].name.view() != "task_scheduler") { add(parameters[i].name.str().c_str(), b.values[i]); }
  }
  add("work_dir", {Value::str(folder), a.call, {}});
  add("task_scheduler", b.values[0]);
  return run_tune_tasks(e, all);
}

auto run_compile_tir(Evaluator& e, const eval::Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"database"}, {"mod"}, {"target"}};
  BoundArguments b;
  if (!bind_arguments(e, "compile_tir", a, parameters, b)) { return b.unknown; }
  const auto* program = b.values[1].value.as<frontend::ProgramObject>();
  if (!program) { return wrong(e, b.values[1], "a program"); }
  std::vector<Value> found = b.values[0].value.items_or_itself();
  for (const Value& one : found) {
    const auto* outcome = one.as<Outcome>();
    if (!outcome) { return wrong(e, b.values[0], "the result of `ms.tune_tir` or `ms.tune_tasks`"); }
    const auto source = outcome->get_attribute(e, Name("source"), a.call);
    const auto* tuned = source ? source->as<frontend::ProgramObject>() : nullptr;
    if (!tuned || !structural_equal(tuned->module, program->module)) { continue; }
    // A dry run has no schedule: that of the program as written stands for it.
    const auto sch = outcome->get_attribute(e, Name("sch"), a.call);
    return sch ? *sch : Value(eval::make_object<script::ScheduleObject>(schedule::Schedule(program->module, 1)));
  }
  return wrong(e, b.values[1], "a program that was tuned with this result");
}

}  // namespace loopsmith::driver::build_script
