// Opens files for commands: see program.h.
#include "driver/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "driver/annotate.h"
#include "driver/command.h"
#include "ir/dialects.h"
#include "ir/highlight.h"
#include "ir/printer.h"
#include "ir/vocabulary.h"
#include "schedule/trace_json.h"
#include "script/auto_scheduler/log.h"
#include "script/autotvm/log.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "target/choice.h"
#include "target/gpu.h"
#include "workspace/imports.h"

namespace loopsmith::driver {
auto files_below(const std::filesystem::path& folder, std::error_code& problem) -> std::vector<std::filesystem::path> {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, problem);
  for (; !problem && at != fs::recursive_directory_iterator(); at.increment(problem)) {
    if (at->path().filename().string().starts_with(".")) {
      if (at->is_directory()) { at.disable_recursion_pending(); }
      continue;
    }
    if (at->is_regular_file() && at->path().extension() == ".tir") { files.push_back(at->path()); }
  }
  std::sort(files.begin(), files.end());
  return files;
}

auto read_file(const std::string& path) -> Result<std::string> {
  // Standard input can be read only once; later calls return the same text.
  static std::optional<std::string> input;
  if (path == "-" && input) { return *input; }
  LOOPSMITH_TRY(text, read_text(path));
  if (path == "-") { input = text; }
  return text;
}

// ---- files -----------------------------------------------------------------------------------------------

SourceFile::SourceFile(const std::string& name, std::string text)
    : text_(name, std::move(text)), document_(name, 0, text_.text(), workspace::imports_on_disk(name)) {
  document_.evaluate();
}

auto SourceFile::read(const std::string& path) -> Result<std::unique_ptr<SourceFile>> {
  LOOPSMITH_TRY(bytes, read_file(path));
  return from_text(path == "-" ? "<stdin>" : path, std::move(bytes));
}

auto SourceFile::from_text(const std::string& name, std::string text) -> std::unique_ptr<SourceFile> {
  return std::unique_ptr<SourceFile>(new SourceFile(name, std::move(text)));
}

auto SourceFile::locate() const -> Locate {
  return [this](const Origin& origin) -> std::optional<Located> {
    workspace::SnapshotPtr snapshot = document_.snapshot();
    if (auto span = snapshot->resolve(origin)) { return Located{&text_, *span}; }
    // The imported text lives as long as the document, which owns its imports.
    auto elsewhere = snapshot->modules() ? snapshot->modules()->locate(origin) : std::nullopt;
    return elsewhere ? std::optional(Located{elsewhere->text.get(), elsewhere->span}) : std::nullopt;
  };
}

// ---- reporting -------------------------------------------------------------------------------------------

Reporter::Reporter(const Arguments& arguments) : json_(arguments.json()), color_(arguments.color(STDERR_FILENO)) {}

void Reporter::report(const Diagnostics& diagnostics, const SourceFile* file, bool only_errors) {
  Locate locate;
  if (file) { locate = file->locate(); }
  for (const Diagnostic& d : diagnostics) {
    // An error found while reading the text is found again when the text runs.
    if (d.severity == Severity::Error && d.where.is_known() && !reported_.emplace(file, d.code, d.where.decl, d.where.begin, d.where.end, d.message()).second) { continue; }
    if (d.severity == Severity::Error) { ++errors_; }
    else if (only_errors) { continue; }
    else if (d.severity == Severity::Warning) { ++warnings_; }
    environment_ = environment_ || d.code == Code::NoLlvm || (d.code == Code::CannotStart && !d.where.is_known());
    if (sink_) {
      sink_->push_back(render_json(d, locate, file ? file->name() : ""));
    } else if (json_) {
      fmt::print("{}\n", render_json(d, locate, file ? file->name() : "").dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      fmt::print(stderr, "{}", render(d, locate, {.color = color_, .file = file ? file->name() : "loopsmith"}));
    }
  }
}

auto Reporter::status() const -> int { return environment_ ? exit_environment : exit_input; }

// ---- selecting -------------------------------------------------------------------------------------------

namespace {

auto read_trace(const std::string& path) -> Result<schedule::Trace> {
  LOOPSMITH_TRY(text, read_file(path));
  return schedule::trace_from_json(text);
}

struct ChosenRecord {
  std::string line;                        // as the log has it
  std::optional<schedule::Trace> trace;    // of a record that is not a choice of knobs
};

/// Chooses the fastest record of a log of the auto-scheduler, as a trace on the program of its task.
auto choose_ansor_record(SourceFile& file, const std::string& path, const std::string& text, workspace::SelectionRequest& wanted, ChosenRecord& out) -> Status {
  LOOPSMITH_TRY(records, script::auto_scheduler::read_ansor_log(path, text));
  LOOPSMITH_TRY(best, script::auto_scheduler::best_of_log(path, records, script::auto_scheduler::tasks_of(file.document().file()), wanted.function));
  LOOPSMITH_TRY(applied, script::auto_scheduler::apply_steps(file.document().file(), best.task, best.record.steps, {path, best.record.number}));
  wanted.function = best.task.variable.str();
  wanted.only_schedule = false;
  wanted.trace = &out.trace.emplace(std::move(applied.trace));
  out.line = std::move(best.record.line);
  return ok();
}

/// Chooses the fastest record of a log for the template that is asked for, or for the only one.
auto choose_record(SourceFile& file, const std::string& path, workspace::SelectionRequest& wanted, ChosenRecord& out) -> Status {
  LOOPSMITH_TRY(text, read_file(path));
  if (script::auto_scheduler::is_ansor_log(text)) { return choose_ansor_record(file, path, text, wanted, out); }
  if (!script::autotvm::is_autotvm_log(text)) { return error(Code::CannotRead).arg("file", path).arg("reason", because(Why::NoRecordFirst).text()); }
  LOOPSMITH_TRY(records, script::autotvm::read_autotvm_log(path, text));
  const std::string name = wanted.schedule.empty() ? workspace::only_template(*file.snapshot()) : wanted.schedule;
  const script::FileSchedule* schedule = file.document().schedules().find(Name(name));
  if (!schedule || schedule->template_name.empty()) {
    return error(Code::RecordRefused).arg("number", static_cast<int64_t>(1)).arg("file", path)
        .arg("reason", (name.empty() ? because(Why::NoOneTemplate).arg("file", file.name()) : because(Why::NotATemplate).arg("name", name)).text())
        .remedy("name the template: `--with NAME`");
  }
  LOOPSMITH_TRY(best, script::autotvm::best_of_log(path, records, schedule->template_name, schedule->arguments));
  wanted.schedule = name;
  out.line = std::move(best.line);
  wanted.decisions = std::make_shared<const script::autotvm::Decisions>(std::move(best.decisions));
  return ok();
}

/// The log of `task.apply_best(F)`, for a command line that names neither a schedule nor a trace. None: the file calls no `apply_best`, or has schedule functions.
auto log_of_file(SourceFile& file, const PickRequest& request, const workspace::SelectionRequest& wanted) -> std::optional<std::string> {
  if (!request.only_schedule || !wanted.schedule.empty() || wanted.trace != nullptr || !workspace::schedule_names(*file.snapshot()).empty()) { return {}; }
  const std::string log = script::auto_scheduler::applied_log(file.document().file());
  if (log.empty()) { return {}; }
  const std::string& path = request.path == "-" ? workspace::import_options().input_name : request.path;
  return (std::filesystem::path(path).parent_path() / log).string();
}

auto target_text(std::string_view option, const Selection& selection) -> std::string {
  std::string text = target::chosen_target(option, selection.module, selection.function, selection.schedule_target);
  return text.empty() ? std::string(target_kind::llvm) : text;
}

}  // namespace

auto pick(const Arguments& arguments, const PickRequest& request, Reporter& reporter) -> std::variant<Selection, int> {
  auto read = SourceFile::read(request.path);
  if (!read) {
    reporter.report(read.diagnostics(), nullptr);
    return reporter.status();
  }
  SourceFile& file = **read;
  auto fail = [&](const Diagnostics& diagnostics) -> int {
    reporter.report(diagnostics, &file, true);
    return reporter.status();
  };
  // Errors anywhere in the file are reported; only those of the selected program stop the command.
  reporter.report(file.diagnostics(), &file, true);

  workspace::SelectionRequest wanted{.function = request.function.empty() ? arguments.get("--function", "") : request.function, .schedule = request.with.empty() ? arguments.get("--with", "") : request.with,
                                     .only_schedule = request.only_schedule, .takes_ill_formed = request.ill_formed, .stops_at_hole = request.until_hole, .only_template = request.only_template};
  if (auto line = arguments.get("--until")) {
    auto number = parse_number(*line, 1, 100'000'000);
    if (!number) { return usage_error("schedule", "`--until` takes a line number"); }
    wanted.until = static_cast<uint32_t>(*number);
  }
  std::optional<schedule::Trace> trace;
  if (auto path = arguments.get("--trace"); path && wanted.schedule.empty()) {
    auto text = read_trace(*path);
    if (!text) { return fail(text.diagnostics()); }
    wanted.trace = &trace.emplace(std::move(*text));
  }
  ChosenRecord chosen_record;
  auto log = arguments.get("--log");
  if (!log) { log = log_of_file(file, request, wanted); }
  if (log && request.takes_log) {
    if (Status chosen = choose_record(file, *log, wanted, chosen_record); !chosen) { return fail(chosen.diagnostics()); }
  }
  workspace::SelectionOutput output;
  auto selected = workspace::select(file.document(), wanted, output);
  if (!output.note.empty()) { fmt::print(stderr, "loopsmith: {}\n", output.note); }
  // The output of the function goes to standard error, because standard output is for the module.
  fmt::print(stderr, "{}", output.printed);
  if (const auto* none = std::get_if<workspace::NotSelected>(&selected)) {
    if (!none->why.empty()) { return fail(none->why); }
    if (!none->sentence.empty()) { fmt::print(stderr, "loopsmith: {}\n", none->sentence); }
    return none->is_contradiction ? static_cast<int>(exit_usage) : reporter.status();
  }
  Selection out;
  static_cast<workspace::Selection&>(out) = std::move(std::get<workspace::Selection>(selected));
  if (request.needs_function && !out.module->find(out.function)) {
    return fail({error(Code::NoProgram).arg("file", file.name()).remedy(fmt::format("`{}` has no function of the tensor language: add one with `@T.prim_func`", out.program.view()))});
  }
  if (request.needs_target) {
    auto target = target::parse(target_text(arguments.get("--target", ""), out));
    if (!target) { return fail(target.diagnostics()); }
    if (auto known = target::check_gpu(*target); !known) { return fail(known.diagnostics()); }
    out.target = std::move(*target);
  }
  out.file = std::move(*read);
  out.record = std::move(chosen_record.line);
  return out;
}

auto read_dialect(const std::string& command, const Arguments& arguments, std::optional<Dialect>& out) -> bool {
  auto text = arguments.get("--dialect");
  if (!text) { return true; }
  if (auto dialect = dialects::named(*text)) { out = *dialect; }
  else {
    (void)usage_error(command, fmt::format("`--dialect` is block, sblock, s_tir, ts, tensor or a version of TVM such as 0.24, not `{}`", *text));
    return false;
  }
  return true;
}

auto print_module(const IRModule& module, const Arguments& arguments) -> int {
  PrintOptions options;
  if (auto dialect = arguments.get("--dialect")) {
    options.dialect = dialects::named(*dialect).value_or(Dialect::Block);
    options.override_dialect = true;
  }
  std::string comments = arguments.get("--comments", "");
  std::string text = comments.empty() ? print_script(module, options) : print_annotated(module, options, comments == "types" ? NoteKind::Types : NoteKind::Regions);
  if (arguments.json()) {
    fmt::print("{}\n", nlohmann::json({{"module", text}}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return exit_done;
  }
  if (arguments.color(STDOUT_FILENO)) { text = colored_script(text); }
  text += '\n';
  if (auto status = write_file("-", text); !status) {
    fmt::print(stderr, "loopsmith: {}\n", status.diagnostics()[0].message());
    return exit_input;
  }
  return exit_done;
}

}  // namespace loopsmith::driver
