// Runs build scripts and implements their functions: see build_script.h.
#include "driver/build_script.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "driver/build_script_models.h"
#include "driver/build_script_state.h"
#include "ir/printer.h"
#include "script/objects.h"
#include "support/codes.h"
#include "support/origin.h"
#include "support/text.h"
#include "syntax/document.h"

namespace loopsmith::driver::build_script {

const eval::TypeTag LoadedFile::type_tag{"file"};

const eval::TypeTag Outcome::type_tag{"result"};

auto value_of(const json& j) -> Value {
  switch (j.type()) {
    case json::value_t::boolean: return Value(j.get<bool>());
    case json::value_t::number_integer:
    case json::value_t::number_unsigned: return Value(j.get<int64_t>());
    case json::value_t::number_float: return Value(j.get<double>());
    case json::value_t::string: return Value::str(j.get<std::string>());
    case json::value_t::array: {
      std::vector<Value> items;
      for (const json& item : j) { items.push_back(value_of(item)); }
      return Value::list(std::move(items));
    }
    case json::value_t::object: {
      std::vector<std::pair<Name, Value>> fields;
      for (const auto& [key, item] : j.items()) { fields.emplace_back(Name(key), value_of(item)); }
      return eval::make_object<Outcome>(std::move(fields));
    }
    default: return {};
  }
}

namespace {

/// A program as the text of a file, under a name.
auto text_of(const frontend::ProgramObject& program, const std::string& name) -> std::string {
  if (PrimFunc func = program.is_function ? program.module->find("main") : PrimFunc()) { return print_script(func, {.function_name = Name(name)}); }
  std::string text = print_script(program.module);
  // The printer names every module `Module`.
  if (size_t at = text.find("class Module:"); at != std::string::npos) { text.replace(at + 6, 6, name); }
  return text;
}

}  // namespace

auto command_failed(Evaluator& e, Origin where, std::string_view command, const ExitStatus& status, const std::string& message) -> Value {
  Diagnostic out = error(Code::CommandFailed, where).arg("command", command).arg("status", status.describe());
  if (!message.empty()) { (void)std::move(out).note({}, message); }
  return e.report(std::move(out));
}

auto wrong(Evaluator& e, const Argument& a, const char* expected) -> Value {
  if (a.value.is_unknown()) { return Value::error(); }
  return e.report(error(Code::WrongType, a.where).arg("expected", expected).arg("found", eval::describe(a.value)));
}

auto subject(Evaluator& e, const Argument& what, const Argument& name, const std::string& folder) -> std::optional<Subject> {
  BuildScript& script = BuildScript::of(e);
  if (const std::string* path = what.value.string()) { return Subject{{script.path(*path)}, {}}; }
  if (const auto* file = what.value.as<LoadedFile>()) { return Subject{{file->path}, {}}; }
  Subject out;
  auto add = [&](const frontend::ProgramObject& program, const std::string& called, Origin where) {
    if (!is_name(called)) {
      e.report(error(Code::NotAProgramName, where).arg("name", called).remedy("give another one: `name=\"...\"`"));
      return false;
    }
    std::error_code problem;
    fs::create_directories(folder, problem);
    std::string file = fmt::format("{}/{}.tir", folder, called);
    std::string text = text_of(program, called);
    // An unchanged file keeps its time.
    auto before = read_file(file);
    if (!before || *before != text) {
      if (auto written = write_file(file, text); !written) {
        for (Diagnostic d : written.diagnostics()) { d.where = where; e.report(std::move(d)); }
        return false;
      }
    }
    out.files.push_back(file);
    out.names.push_back(called);
    return true;
  };
  if (const auto* program = what.value.as<frontend::ProgramObject>()) {
    const std::string* given = name.value.string();
    if (!add(*program, given ? *given : std::string(program->name.view()), given ? name.where : what.where)) { return {}; }
    return out;
  }
  if (const auto* programs = what.value.as<eval::Dict>()) {
    for (const auto& [key, value] : programs->entries()) {
      const std::string* called = key.string();
      const auto* program = value.as<frontend::ProgramObject>();
      if (!called || !program) {
        wrong(e, what, "a dictionary of programs by name");
        return {};
      }
      if (!add(*program, *called, what.where)) { return {}; }
    }
    return out;
  }
  wrong(e, what, "a path, a file, a program, or a dictionary of programs by name");
  return {};
}

/// A diagnostic of a line of JSON, as text.
static auto shown(const json& d) -> std::string {
  std::string where = d.value("file", "");
  if (d.contains("line")) { where += fmt::format(":{}:{}", d.value("line", 0), d.value("column", 0)); }
  std::string out = fmt::format("{}{}{}: {} [{}]", where, where.empty() ? "" : ": ", d.value("severity", ""), d.value("message", ""), d.value("code", ""));
  for (const json& help : d.value("help", json::array())) { out += fmt::format("\nhelp: {}", help.is_string() ? help.get<std::string>() : help.dump()); }
  return out;
}

auto command(Evaluator& e, std::vector<std::string> argv, Origin where) -> std::optional<std::pair<std::vector<json>, ExitStatus>> {
  BuildScript& script = BuildScript::of(e);
  argv.insert(argv.begin(), current_program());
  auto process = Process::start({.argv = std::move(argv), .standard_input = Stream::Null});
  if (!process) {
    for (Diagnostic d : process.diagnostics()) { d.where = where; e.report(std::move(d)); }
    return {};
  }
  std::vector<json> lines;
  while (true) {
    ReadResult line = process->read_line(in(std::chrono::milliseconds(200)));
    if (e.cancel.is_cancelled()) {
      process->send_signal(SIGINT);
      (void)process->wait(in(std::chrono::seconds(5)));
      return {};
    }
    if (line.status == IoStatus::TimedOut) { continue; }
    if (line.status == IoStatus::Closed) { break; }
    if (script.request.json) {
      fmt::print("{}\n", line.data);
      std::fflush(stdout);
    }
    json parsed = json::parse(line.data, nullptr, false);
    if (!parsed.is_object()) { continue; }
    if (!script.request.json) {
      if (parsed.contains("severity") && parsed.contains("message")) { fmt::print(stderr, "{}\n", shown(parsed)); }
      if (parsed.value("event", "") == "failed") { fmt::print(stderr, "{}", parsed.value("why", "")); }
    }
    lines.push_back(std::move(parsed));
  }
  auto status = process->wait(in(std::chrono::seconds(10)));
  return std::pair(std::move(lines), status ? *status : process->kill());
}

auto options(Evaluator& e, const BoundArguments& bound, const std::vector<std::pair<size_t, const char*>>& table, std::vector<std::string>& argv) -> bool {
  auto word = [&](const Value& v) -> std::optional<std::string> {
    if (const std::string* text = v.string()) { return *text; }
    if (v.is_int() || v.is_float()) { return v.repr(); }
    return {};
  };
  for (auto [index, option] : table) {
    const Argument& a = bound.values[index];
    if (!bound.given[index] || a.value.is_none()) { continue; }
    if (a.value.is_bool()) {
      if (a.value.bool_value()) { argv.emplace_back(option); }
      continue;
    }
    std::vector<Value> several = a.value.items_or_itself();
    for (const Value& v : several) {
      auto text = word(v);
      if (!text) {
        wrong(e, a, "a string or a number, or a list of them");
        return false;
      }
      argv.insert(argv.end(), {option, *text});
    }
  }
  return true;
}

auto path_option(Evaluator& e, const BoundArguments& bound, size_t index, const char* option, std::string_view other, std::vector<std::string>& argv) -> bool {
  const Argument& a = bound.values[index];
  if (!bound.given[index] || a.value.is_none()) { return true; }
  const std::string* text = a.value.string();
  if (!text) {
    wrong(e, a, "a path");
    return false;
  }
  argv.insert(argv.end(), {option, *text == other ? *text : BuildScript::of(e).path(*text)});
  return true;
}

// ---- the functions --------------------------------------------------------------------------------------------------

namespace {

auto run_load(Evaluator& e, const eval::Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"path"}};
  BoundArguments b;
  if (!bind_arguments(e, "load", a, parameters, b)) { return b.unknown; }
  const std::string* text = b.values[0].value.string();
  if (!text) { return wrong(e, b.values[0], "a path"); }
  BuildScript& script = BuildScript::of(e);
  std::string path = script.path(*text);
  if (auto known = script.loaded.find(path); known != script.loaded.end()) { return known->second; }
  auto content = read_file(path);
  if (!content) {
    for (Diagnostic d : content.diagnostics()) { d.where = b.values[0].where; e.report(std::move(d)); }
    return Value::error();
  }
  auto file = eval::make_object<LoadedFile>(path, std::move(*content));
  Diagnostics problems = file->file->diagnostics();
  std::erase_if(problems, [](const Diagnostic& d) { return d.severity != Severity::Error; });
  if (!problems.empty()) {
    script.request.report(problems, file->file->locate(), path);
    return e.report(error(Code::FileWithErrors, b.values[0].where).arg("file", *text).arg("count", static_cast<int64_t>(problems.size())));
  }
  return script.loaded.emplace(path, file).first->second;
}

auto run_apply(Evaluator& e, const eval::Arguments& a) -> Value {
  if (a.positional < 2) { return e.report(error(Code::TooFewArguments, a.call).arg("callee", "apply").arg("count", "2").arg("given", std::to_string(a.positional)).remedy("call it as `apply(program, function, ...)`")); }
  const auto* program = a.all[0].value.as<frontend::ProgramObject>();
  if (!program) { return wrong(e, a.all[0], "a program"); }
  eval::Arguments call = a;
  auto schedule = eval::make_object<script::ScheduleObject>(schedule::Schedule(program->module, 1));
  call.all.erase(call.all.begin());
  Argument function = call.all[0];
  call.all[0] = {Value(schedule), a.all[0].where, {}};
  call.positional = a.positional - 1;
  size_t before = e.diagnostics.size();
  Value result = e.call(function, call);
  // Hints and warnings about a step do not make the call fail.
  bool has_failed = std::any_of(e.diagnostics.begin() + static_cast<std::ptrdiff_t>(before), e.diagnostics.end(), [](const Diagnostic& d) { return d.severity == Severity::Error; });
  if (result.is_unknown() || has_failed) {
    if (result.is_opaque()) { return e.report(error(Code::PythonNotRun, a.all[1].where)); }
    return Value::error();
  }
  return eval::make_object<frontend::ProgramObject>(schedule->schedule.module(), program->name, program->is_function, program->where);
}

auto run_build(Evaluator& e, const eval::Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"what"}, {"output", false}, {"target", false}, {"schedule", false}, {"name", false},
                                                    {"jobs", false}, {"as_written", false}, {"force", false}, {"cache", false},
                                                    {"tuned", false}, {"db", false}, {"packed", false}, {"debug_info", false}};
  BoundArguments b;
  if (!bind_arguments(e, "build", a, parameters, b)) { return b.unknown; }
  BuildScript& script = BuildScript::of(e);
  const std::string* given = b.values[1].value.string();
  if (b.given[1] && !given) { return wrong(e, b.values[1], "a path"); }
  std::string output = script.path(given ? *given : "build");
  // The texts of programs are kept beside the artefacts, so that the next build finds them unchanged.
  auto found = subject(e, b.values[0], b.values[4], output + "/sources");
  if (!found) { return Value::error(); }
  std::vector<std::string> argv = {"build"};
  argv.insert(argv.end(), found->files.begin(), found->files.end());
  argv.insert(argv.end(), {"--json", "--output", output});
  if (script.request.dry_run) { argv.emplace_back("--dry-run"); }
  if (!options(e, b, {{2, "--target"}, {3, "--with"}, {5, "--jobs"}, {6, "--as-written"}, {7, "--force"}, {11, "--packed"}, {12, "--debug-info"}}, argv) ||
      !path_option(e, b, 8, "--cache", "none", argv)) {
    return Value::error();
  }
  // In a dry run the database does not exist yet. Its schedules would change every program, so every program would be built.
  const std::string* database = b.values[10].value.string();
  if (std::error_code unknown; script.request.dry_run && database && !fs::exists(script.path(*database), unknown)) {
    argv.emplace_back("--force");
  } else if (!options(e, b, {{9, "--tuned"}}, argv) || !path_option(e, b, 10, "--db", {}, argv)) {
    return Value::error();
  }
  auto ran = command(e, std::move(argv), a.call);
  if (!ran) { return Value::error(); }
  json artefacts = json::array();
  json done;
  for (const json& line : ran->first) {
    if (line.value("event", "") == "built") {
      for (const json& artefact : line.value("artefacts", json::array())) { artefacts.push_back(artefact.value("path", "")); }
    }
    if (line.value("event", "") == "done") { done = line; }
  }
  bool failed = !ran->second.succeeded();
  script.something_failed = script.something_failed || failed;
  if (!script.request.json) {
    if (done.is_object()) {
      const std::string* target = b.values[2].value.string();
      fmt::print("{}{}: {} built, {} unchanged{}\n", given ? *given : "build", target ? fmt::format(" ({})", *target) : "", done.value("built", 0),
                 done.value("unchanged", 0),
                 done.value("failed", 0) != 0 ? fmt::format(", {} failed", done.value("failed", 0)) : "");
    }
    std::fflush(stdout);
  }
  if (!done.is_object()) {
    if (script.request.dry_run && !failed) { return value_of({{"built", 0}, {"unchanged", 0}, {"failed", 0}, {"artefacts", artefacts}}); }
    return command_failed(e, a.call, "build", ran->second);
  }
  return value_of({{"built", done.value("built", 0)}, {"unchanged", done.value("unchanged", 0)}, {"failed", done.value("failed", 0)}, {"artefacts", artefacts}});
}

auto run_bench(Evaluator& e, const eval::Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"what"}, {"schedule", false}, {"target", false}, {"function", false}, {"name", false}};
  BoundArguments b;
  if (!bind_arguments(e, "bench", a, parameters, b)) { return b.unknown; }
  BuildScript& script = BuildScript::of(e);
  auto found = subject(e, b.values[0], b.values[4], script.scratch());
  if (!found) { return Value::error(); }
  std::vector<Value> all;
  for (size_t i = 0; i < found->files.size(); ++i) {
    std::vector<std::string> argv = {"bench", found->files[i], "--json"};
    if (!options(e, b, {{1, "--with"}, {2, "--target"}, {3, "--function"}}, argv)) { return Value::error(); }
    if (script.request.dry_run) {
      std::string name = fs::path(found->files[i]).stem().string();
      fmt::print("would measure {}\n", name);
      all.push_back(value_of({{"name", "plain"}, {"program", name}, {"seconds", 0.0}, {"gflops", 0.0}, {"gbytes", 0.0}, {"roofline", 0.0}, {"threads", 0}}));
      continue;
    }
    auto ran = command(e, std::move(argv), a.call);
    if (!ran) { return Value::error(); }
    if (!ran->second.succeeded()) { return command_failed(e, a.call, "bench", ran->second); }
    for (const json& line : ran->first) {
      if (line.contains("seconds")) { all.push_back(value_of(line)); }
    }
  }
  return Value::list(std::move(all));
}

struct Function { const char* name; eval::Builtin::Run run; };
constexpr Function functions[] = {{"load", run_load}, {"apply", run_apply}, {"build", run_build}, {"tune", run_tune}, {"bench", run_bench}};

// Functions of `ms` in scripts: script/tuner/names.cpp looks them up by these names.
constexpr Function ms_functions[] = {{"ms.tune_tir", run_tune_tir}, {"ms.tune_tasks", run_tune_tasks}, {"ms.compile_tir", run_compile_tir}, {"ms.TuneContext", run_tune_context},
                                     {"ms.TaskScheduler.tune", run_scheduler_tune}, {"ms.CostModel.load", run_model_load}, {"ms.CostModel.save", run_model_save}};

}  // namespace

auto BuildScript::lookup(Evaluator& e, Name name, Origin where) -> std::optional<Value> {
  for (const Function& f : functions) {
    if (name == Name(f.name)) { return Value(eval::make_object<eval::Builtin>(name, f.run)); }
  }
  for (const Function& f : ms_functions) {
    if (name == Name(f.name)) { return Value(eval::make_object<eval::Builtin>(name, f.run)); }
  }
  if (name == Name("args")) {
    std::vector<Value> items;
    for (const std::string& arg : request.args) { items.push_back(Value::str(arg)); }
    return Value::list(std::move(items));
  }
  return names_.file().lookup(e, name, where);
}

auto BuildScript::imported(Evaluator& e, const syntax::ImportFromStmt& from, const syntax::ImportName& name) -> std::optional<Value> { return names_.file().imported(e, from, name); }
auto BuildScript::imported(const syntax::ImportName& name) -> std::optional<Value> { return names_.file().imported(name); }

void BuildScript::names(std::vector<Name>& out) const {
  for (const Function& f : functions) { out.emplace_back(f.name); }
  out.emplace_back("args");
  names_.file().names(out);
}

}  // namespace loopsmith::driver::build_script

namespace loopsmith::driver {

auto run_build_script(const BuildScriptRequest& request) -> bool {
  auto bytes = read_file(request.path);
  if (!bytes) {
    request.report(bytes.diagnostics(), {}, request.path);
    return false;
  }
  SourceText text(request.path == "-" ? "<stdin>" : request.path, std::move(*bytes));
  syntax::Document document(text.text());
  using build_script::BuildScript;
  using build_script::LoadedFile;
  BuildScript script(request);
  // A diagnostic may be about a function of a file that the script loaded.
  Locate locate = [&](const Origin& origin) -> std::optional<Located> {
    if (auto span = document.resolve(origin)) { return Located{&text, *span}; }
    for (const auto& [path, file] : script.loaded) {
      if (auto found = file.as<LoadedFile>()->file->locate()(origin)) { return found; }
    }
    return {};
  };
  if (Diagnostics problems = document.diagnostics(); has_errors(problems)) {
    request.report(problems, locate, request.path);
    return false;
  }
  eval::Evaluator evaluator;
  evaluator.limits = request.limits;
  evaluator.globals = &script;
  evaluator.host = &script;
  evaluator.host_tag = &BuildScript::tag;
  evaluator.not_called = [&evaluator](const eval::Value&, const syntax::CallExpr& written, const eval::Arguments& arguments) { return build_script::call_in_script(evaluator, *written.callee, arguments); };
  evaluator.output = [](std::string_view line) {
    fmt::print("{}", line);
    std::fflush(stdout);
  };
  eval::ScopeRef scope = evaluator.new_scope({});
  std::set<std::tuple<DeclId, uint32_t, std::string>> reported;
  for (const syntax::PlacedItem& placed : document.items()) {
    evaluator.tree = placed.item;
    for (const syntax::Stmt* stmt : placed.item->statements) {
      eval::Value result;
      eval::Flow flow = evaluator.exec(*stmt, scope, result);
      Diagnostics problems = std::move(evaluator.diagnostics);
      evaluator.diagnostics.clear();
      // A checked text may contain unknown Python; a script that runs may not.
      bool unknown = flow == eval::Flow::Unknown || evaluator.opaque_at.is_known();
      if (unknown && !has_errors(problems)) {
        problems.push_back(error(Code::PythonNotRun, evaluator.opaque_at.is_known() ? evaluator.opaque_at : stmt->origin()));
      }
      for (Diagnostic& d : problems) {
        if (d.code == Code::TooMuchWork) { (void)std::move(d).remedy("`loopsmith script` takes other limits: `--max-steps`, `--max-time`, `--max-memory`"); }
      }
      const bool has_failed = has_errors(problems);
      // A loop that runs a function several times reports its hints once.
      std::erase_if(problems, [&](const Diagnostic& d) { return d.severity != Severity::Error && !reported.emplace(d.where.decl, d.where.begin, d.message()).second; });
      request.report(problems, locate, request.path);
      if (has_failed || flow == eval::Flow::Failed) { return false; }
    }
  }
  return !script.something_failed;
}

}  // namespace loopsmith::driver
