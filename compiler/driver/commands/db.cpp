// `loopsmith db list|show|best|explain|history|export|import|gc`: shows the tuning database, moves records to and from files, and removes records.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/commands/tuner_log.h"
#include "driver/execution.h"
#include "driver/program.h"
#include "driver/records.h"
#include "driver/tvm_database.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "schedule/trace_json.h"
#include "script/auto_scheduler/log.h"
#include "script/autotvm/log.h"
#include "script/log_lines.h"
#include "script/log_values.h"
#include "support/codes.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/reasons.h"
#include "support/spelling.h"
#include "support/text.h"
#include "target/hardware.h"
#include "tune/database/database.h"
#include "tune/session/explain.h"
#include "tune/session/history.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "db",
    .arguments = "list | show PROGRAM | best PROGRAM | explain FILE | history FILE | export [PROGRAM] | import F | gc [--db F] [--target T]",
    .summary = "Shows tuned programs, their trials and the best trace of one; exports, imports and removes records.",
    .details = "`best` prints the fastest measured trial's trace in TVM's JSON, for `schedule --trace`. If a program was tuned for several targets or\n"
               "machines, `--target` picks one by a part of its text; without it the one with most trials is taken.\n"
               "`export` writes a line of JSON for each trial, with its program's text. `import` adds such lines, without duplicates; if one\n"
               "line cannot be read, it adds none. `export --format metaschedule -o DIR` writes programs and measured trials as the two files of\n"
               "TVM's database, `database_workload.json` and `database_tuning_record.json`, and `import DIR` reads such a folder. `import F --program\n"
               "FILE` takes the program from FILE instead; F may then also be a log of AutoTVM or of the auto-scheduler. `export --format autotvm` and\n"
               "`--format ansor` write such logs: the trials of templates, and of tasks of the auto-scheduler. `export PROGRAM --tvm`\n"
               "prints the records alone. Records whose trace does not apply to their program are left out. `gc` removes programs without trials, and the trials that `--keep` and `--older` select, but never the best\n"
               "of a program; a later search measures removed trials again. `explain FILE` lists the records for a program of a file, with the\n"
               "reason why each is used or not: another text, another machine, not verified, or steps that do not apply.\n"
               "`history FILE` lists the results of the searches for the program on this machine, in Markdown.",
    .options = {{.name = "--db", .value = "F", .help = "the database; the default is that of `tune`"},
                {.name = "--target", .value = "T", .help = "only records for targets with this in their text"},
                {.name = "--tvm", .help = "`export`: in the form of TVM's database"},
                {.name = "--format", .value = "F", .help = "`export`: `lines`, the default; `metaschedule`, the files of TVM's database; `autotvm` or `ansor`, a log of TVM's older tuners"},
                {.name = "--output", .value = "PATH", .help = "`export`: the file of the records or of the log, in place of standard output; with `--format metaschedule` the folder of both files", .short_name = "-o"},
                {.name = "--program", .value = "FILE", .help = "`import`: the program of TVM's records"},
                {.name = "--with", .value = "NAME", .help = "`import`: the AutoTVM template of a log, where FILE has several"},
                {.name = "--function", .value = "F", .help = "`import`, `explain`, `history`: the program meant, where FILE has several"},
                {.name = "--workload", .value = "N", .help = "`import`: the program's line in database_workload.json, from 0, where the file has several"},
                {.name = "--keep", .value = "N", .help = "`gc`: keeps this number of trials of each program, the fastest"},
                {.name = "--older", .value = "DAYS", .help = "`gc`: removes trials that were measured more than DAYS days ago"},
                json_option},
    .examples = {{"loopsmith db list", "all tuned programs"},
                 {"loopsmith db best matmul > best.json", "then: loopsmith schedule matmul.tir --trace best.json"},
                 {"loopsmith db export --db tuning.db > records.jsonl", "for other tools, and for `import` on another machine"},
                 {"loopsmith db import database_tuning_record.json --program matmul.tir", "the schedules that TVM's tuner found"},
                 {"loopsmith db export --format metaschedule -o tvm", "programs and trials for TVM's tuner"},
                 {"loopsmith db export --format autotvm -o matmul.log", "the trials of templates, for AutoTVM and for `--log`"},
                 {"loopsmith db explain matmul.tir", "why each record is used or not"},
                 {"loopsmith db history matmul.tir", "the course of the best, search by search"},
                 {"loopsmith db gc --keep 100", "a smaller database"}},
    .least = 1,
    .most = 2,
};

using nlohmann::json;

void print_line(const json& line) { fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace)); }

/// The non-empty lines of a file.
auto lines_of(const std::string& text) -> std::vector<std::pair<size_t, std::string_view>> {
  std::vector<std::pair<size_t, std::string_view>> out;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    ++number;
    if (end > at) { out.emplace_back(number, std::string_view(text).substr(at, end - at)); }
    at = end + 1;
  }
  return out;
}

struct Taken {
  size_t added = 0, known = 0;
  size_t refused = 0;                        // their traces do not apply, or they are of another task
  size_t of_other_targets = 0;               // that are not known here
  std::string other_target = {};             // of the first one
};

/// Adds a record that is not in the database yet.
auto take(tune::Database& database, const ReadRecord& read, Taken& taken) -> Status {
  const tune::TaskKey& task = read.workload.task;
  LOOPSMITH_CHECK(database.add_workload(task, read.workload.name, read.workload.text));
  LOOPSMITH_TRY(known, database.find(task, read.record.candidate));
  if (known && known->trace == read.record.trace) {
    if (known->line.empty() && !read.record.line.empty()) { LOOPSMITH_CHECK(database.set_line(known->id, read.record.line)); }
    ++taken.known;
    return ok();
  }
  LOOPSMITH_CHECK(database.add(task, read.record));
  ++taken.added;
  return ok();
}

auto take_own(tune::Database& database, const std::string& path, const std::string& text, Taken& taken) -> Status {
  for (auto [number, line] : lines_of(text)) {
    LOOPSMITH_TRY(read, read_record(json::parse(line, nullptr, false), fmt::format("{}:{}", path, number)));
    LOOPSMITH_CHECK(take(database, read, taken));
  }
  return ok();
}

/// The machine of imported records that do not name it.
constexpr const char* tvm_machine = "unknown (imported from TVM)";

/// Adds a record of TVM's for a program, unless its trace does not apply. `line`: of the log that it is from, where that is one of an older tuner.
auto take_tvm_record(tune::Database& database, const TvmRecord& read, const IRModule& program, const std::string& name, int trial, Taken& taken, const std::string& line = {}) -> Status {
  auto trace = schedule::trace_from_json(read.trace);
  schedule::Schedule sch(program, 1);
  if (read.target.empty()) {
    if (taken.of_other_targets++ == 0) { taken.other_target = read.unknown_target; }
    return ok();
  }
  if (!trace || !sch.replay(*trace)) {
    ++taken.refused;
    return ok();
  }
  ReadRecord one;
  one.workload.task = {structural_hash(program), read.target, tvm_machine};
  one.workload.name = name;
  one.workload.text = print_script(program);
  one.record.trace = read.trace;
  one.record.candidate = hash_bytes(read.trace);
  one.record.trial = trial;
  one.record.line = line;
  one.record.median_seconds = read.seconds;
  if (read.seconds <= 0) {
    one.record.outcome = tune::Outcome::Rejected;
    one.record.note = "it was not measured";
  }
  return take(database, one, taken);
}

/// Adds the records of a TVM database to ours. `programs`: those of the file of workloads beside it. `workload`: adds only its records; none: adds all.
auto take_tvm_database(tune::Database& database, const std::string& path, const std::string& text, const std::vector<IRModule>& programs, std::optional<int64_t> workload,
                       Taken& taken) -> Status {
  std::vector<int> trials(programs.size(), 0);
  for (auto [number, line] : lines_of(text)) {
    std::string place = fmt::format("{}:{}", path, number);
    LOOPSMITH_TRY(read, read_tvm_record(json::parse(line, nullptr, false), place));
    if (workload && read.workload != *workload) { continue; }
    if (read.workload < 0 || read.workload >= static_cast<int64_t>(programs.size())) {
      return unreadable(place, because(Why::WorkloadNumber).arg("number", read.workload).arg("count", programs.size()));
    }
    auto index = static_cast<size_t>(read.workload);
    const std::string& name = programs[index]->functions.front().first.str();
    LOOPSMITH_CHECK(take_tvm_record(database, read, programs[index], name, ++trials[index], taken));
  }
  return ok();
}

auto take_tvm(tune::Database& database, const std::string& path, const std::string& text, const Selection& selection, std::optional<int64_t> workload, Taken& taken) -> Status {
  std::optional<int64_t> seen;
  int trial = 0;
  for (auto [number, line] : lines_of(text)) {
    std::string place = fmt::format("{}:{}", path, number);
    LOOPSMITH_TRY(read, read_tvm_record(json::parse(line, nullptr, false), place));
    if (workload && read.workload != *workload) { continue; }
    if (seen && *seen != read.workload) {
      return unreadable(place, because(Why::OfAnotherProgram))
          .remedy("pick one: `--workload N`, its line in database_workload.json, from 0");
    }
    seen = read.workload;
    LOOPSMITH_CHECK(take_tvm_record(database, read, selection.before, selection.program.str(), ++trial, taken));
  }
  return ok();
}

/// Adds one record of an older tuner of TVM's, with the trace that it became on a program.
auto take_log_record(tune::Database& database, const IRModule& program, const std::string& name, const std::string& target, const schedule::Trace& trace, double seconds, int trial, const std::string& line, Taken& taken) -> Status {
  schedule::Schedule sch(program, 1);
  auto parsed = target::parse(target);
  if (!sch.replay(trace)) {
    ++taken.refused;
    return ok();
  }
  const TvmRecord read{.workload = 0, .trace = schedule::trace_to_json(sch.trace()), .target = parsed ? parsed->str() : target, .seconds = seconds, .arguments = {}};
  return take_tvm_record(database, read, program, name, trial, taken, line);
}

/// Adds the records of a log of AutoTVM that belong to the task of a template.
auto take_autotvm(tune::Database& database, const std::string& path, const std::string& text, const Selection& selection, Taken& taken) -> Status {
  LOOPSMITH_TRY(records, script::autotvm::read_autotvm_log(path, text));
  workspace::Document& document = selection.file->document();
  const script::FileSchedule* schedule = document.schedules().find(Name(selection.schedule));
  if (!schedule || selection.template_name.empty()) {
    return unreadable(path, because(Why::LogWithoutTemplate)).remedy("name the template: `--with NAME`");
  }
  const std::vector<eval::Value> arguments = schedule->arguments;
  int trial = 0;
  for (script::autotvm::AutotvmRecord& record : records) {
    if (record.template_name != selection.template_name || script::arguments_text(record.arguments) != script::arguments_text(arguments)) {
      ++taken.refused;
      continue;
    }
    auto ran = document.run_schedule(selection.schedule, {}, {}, std::make_shared<const script::autotvm::Decisions>(std::move(record.decisions)));
    if (!ran || has_errors(ran->all_diagnostics()) || !ran->is_complete || !ran->result) {
      ++taken.refused;
      continue;
    }
    // A template may compute its result in another way for each configuration.
    LOOPSMITH_CHECK(take_log_record(database, ran->program, selection.program.str(), record.target, ran->result->trace(), record.mean(), ++trial, record.line, taken));
  }
  return ok();
}

/// Adds the records of a log of the auto-scheduler that belong to a task of the file.
auto take_ansor(tune::Database& database, const std::string& path, const std::string& text, const Selection& selection, Taken& taken) -> Status {
  LOOPSMITH_TRY(records, script::auto_scheduler::read_ansor_log(path, text));
  frontend::File& file = selection.file->document().file();
  const auto tasks = script::auto_scheduler::tasks_of(file);
  auto task = std::find_if(tasks.begin(), tasks.end(), [&](const auto& one) { return one.variable == selection.program; });
  int trial = 0;
  for (const script::auto_scheduler::AnsorRecord& record : records) {
    if (task == tasks.end() || !script::auto_scheduler::is_of_task(record, *task)) {
      ++taken.refused;
      continue;
    }
    auto applied = script::auto_scheduler::apply_steps(file, *task, record.steps, {path, record.number});
    if (!applied) {
      ++taken.refused;
      continue;
    }
    LOOPSMITH_CHECK(take_log_record(database, selection.before, selection.program.str(), record.target, applied->trace, record.mean(), ++trial, record.line, taken));
  }
  return ok();
}

/// Adds the records that TVM wrote for the program of a selection, in the form that the text has.
auto take_for_program(tune::Database& database, const std::string& path, const std::string& text, const Selection& selection, std::optional<int64_t> workload, Taken& taken) -> Status {
  if (script::autotvm::is_autotvm_log(text)) { return take_autotvm(database, path, text, selection, taken); }
  if (script::auto_scheduler::is_ansor_log(text)) { return take_ansor(database, path, text, selection, taken); }
  return take_tvm(database, path, text, selection, workload, taken);
}

/// A call of `db`: the verb, its options, and the output for reports. Each verb below is a function of it that returns the exit status.
struct Request {
  const Arguments& arguments;
  std::string verb;
  std::string path;                           // of the database
  std::optional<int64_t> workload;
  tune::Database::Unwanted unwanted;
  Reporter reporter;

  [[nodiscard]] auto subject() const -> const std::string& { return arguments.positional()[1]; }   // a program or a file
  [[nodiscard]] auto has_subject() const -> bool { return arguments.positional().size() == 2; }
  auto fail(const Diagnostics& diagnostics) -> int {
    reporter.report(diagnostics, nullptr);
    return reporter.status();
  }
};

using Workloads = std::vector<tune::Database::Workload>;

/// Checks the verb and its options; returns the exit status of a mistake in them.
auto check(Request& request) -> std::optional<int> {
  const std::string& verb = request.verb;
  const std::vector<std::string> verbs = {"list", "show", "best", "explain", "history", "export", "import", "gc"};
  if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end()) {
    std::string meant = closest(verb, verbs);
    return usage_error("db", fmt::format("there is no `{}`{} Use list, show, best, explain, history, export, import or gc", verb, meant.empty() ? "." : fmt::format("; did you mean `{}`?", meant)));
  }
  const bool is_of_program = verb == "show" || verb == "best" || (verb == "export" && request.arguments.has("--tvm"));
  const bool is_of_file = verb == "explain" || verb == "history";
  if (verb == "import" && !request.has_subject()) { return usage_error("db", "`import` needs a file, which `export` or TVM wrote; `-` is standard input"); }
  if (is_of_program && !request.has_subject()) { return usage_error("db", fmt::format("`{}` needs the name of a PROGRAM", verb == "export" ? "export --tvm" : verb)); }
  if (is_of_file && !request.has_subject()) { return usage_error("db", fmt::format("`{}` needs the FILE with the program", verb)); }
  if (request.has_subject() && !is_of_program && !is_of_file && verb != "import" && verb != "export") { return usage_error("db", fmt::format("`{}` takes no PROGRAM", verb)); }
  if (auto format = request.arguments.get("--format")) {
    if (verb != "export") { return usage_error("db", "`--format` is for `export`"); }
    const std::vector<std::string> formats = {"lines", "metaschedule", "autotvm", "ansor"};
    if (std::find(formats.begin(), formats.end(), *format) == formats.end()) {
      const std::string meant = closest(*format, formats);
      return usage_error("db", fmt::format("there is no format `{}`{} Use lines, metaschedule, autotvm or ansor", *format, meant.empty() ? "." : fmt::format("; did you mean `{}`?", meant)));
    }
  }
  for (auto [option, of, number] : {std::tuple{"--workload", "import", &request.workload}, {"--keep", "gc", &request.unwanted.beyond}, {"--older", "gc", &request.unwanted.before}}) {
    auto text = request.arguments.get(option);
    if (!text) { continue; }
    if (verb != of) { return usage_error("db", fmt::format("`{}` is for `{}`", option, of)); }
    *number = parse_number(*text, 0, 1'000'000'000);
    if (!*number) { return usage_error("db", fmt::format("`{}` is a number from 0 on, not `{}`", option, *text)); }
  }
  if (request.unwanted.before) { request.unwanted.before = static_cast<int64_t>(std::time(nullptr)) - *request.unwanted.before * 86400; }
  return {};
}

auto import_records(Request& request) -> int {
  std::string path = request.subject();
  std::optional<std::vector<IRModule>> programs;   // of TVM's database
  if (std::string records = tvm_records_at(path); !records.empty() && !request.arguments.has("--program")) {
    std::string workloads = tvm_workloads_at(path);
    if (workloads.empty()) {
      return request.fail({unreadable(path, because(Why::RecordsWithoutWorkloads))
                               .remedy("name the file with the program: `--program FILE`")});
    }
    auto read = read_tvm_workloads(workloads);
    if (!read) { return request.fail(read.diagnostics()); }
    programs = std::move(*read);
    path = std::move(records);
  }
  auto text = read_file(path);
  if (!text) { return request.fail(text.diagnostics()); }
  std::optional<Selection> selection;
  if (auto program = request.arguments.get("--program")) {
    auto picked = pick(request.arguments, {.path = *program, .only_template = true}, request.reporter);
    if (const int* status = std::get_if<int>(&picked)) { return *status; }
    selection = std::move(std::get<Selection>(picked));
  }
  auto into = tune::Database::open(request.path);
  if (!into) { return request.fail(into.diagnostics()); }
  Taken taken;
  auto done = into->at_once([&] {
    if (programs) { return take_tvm_database(*into, path, *text, *programs, request.workload, taken); }
    return selection ? take_for_program(*into, path, *text, *selection, request.workload, taken) : take_own(*into, path, *text, taken);
  });
  if (!done) { return request.fail(done.diagnostics()); }
  if (auto kept = into->sync(); !kept) { return request.fail(kept.diagnostics()); }
  if (request.arguments.json()) {
    print_line({{"added", taken.added}, {"known", taken.known}, {"refused", taken.refused}, {"of_other_targets", taken.of_other_targets}});
  } else {
    const std::string refused = taken.refused > 0 ? fmt::format(", {} left out: their traces do not apply to {}", taken.refused, selection ? fmt::format("`{}`", selection->program.str()) : "their programs") : "";
    const std::string others = taken.of_other_targets > 0 ? fmt::format(", {} left out: {}", taken.of_other_targets, taken.other_target.empty() ? "they name no target" : fmt::format("`{}` is not a target that is known here", taken.other_target)) : "";
    fmt::print("{} added, {} known already{}{}\n", count_text(taken.added, "trial"), taken.known, refused, others);
  }
  return exit_done;
}

auto collect_garbage(Request& request, tune::Database& database) -> int {
  std::error_code unknown;
  auto before = std::filesystem::file_size(request.path, unknown);
  auto gone = database.forget(request.unwanted);
  if (!gone) { return request.fail(gone.diagnostics()); }
  auto after = std::filesystem::file_size(request.path, unknown);
  if (request.arguments.json()) {
    print_line({{"trials", gone->records}, {"programs", gone->workloads}, {"bytes_before", before}, {"bytes", after}});
  } else {
    fmt::print("{} and {} forgotten; {} bytes, before {}\n", count_text(gone->records, "trial"), count_text(gone->workloads, "program"), after, before);
  }
  return exit_done;
}

auto history(Request& request, tune::Database& database) -> int {
  auto picked = pick(request.arguments, {.path = request.subject()}, request.reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  auto text = tune::records_history(database, selection.before, selection.program.str(), target::machine_identity());
  if (!text) { return request.fail(text.diagnostics()); }
  if (request.arguments.json()) { print_line({{"program", selection.program.str()}, {"text", *text}}); } else { fmt::print("{}", *text); }
  return exit_done;
}

auto explain(Request& request, tune::Database& database) -> int {
  auto picked = pick(request.arguments, {.path = request.subject()}, request.reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  auto explained = tune::explain_records(database, selection.before, selection.program.str(), target::machine_identity());
  if (!explained) { return request.fail(explained.diagnostics()); }
  if (!request.arguments.json()) {
    fmt::print("{}", tune::text_of(*explained, request.path));
    return exit_done;
  }
  for (const tune::TaskExplained& task : explained->tasks) {
    print_line({{"program", explained->program}, {"workload", workload_text(task.task)}, {"target", task.task.target}, {"machine", task.task.machine},
                {"same_program", task.is_same_program}, {"this_machine", task.is_this_machine}, {"records", task.records}, {"measured", task.measured},
                {"verified", task.verified}, {"best_seconds", task.best_seconds}, {"applies", task.why_not_applied.empty()}, {"used", task.is_used}});
  }
  return exit_done;
}

auto list(const Request& request, const Workloads& workloads) -> int {
  for (const auto& w : workloads) {
    if (request.arguments.json()) {
      print_line({{"program", w.name}, {"workload", workload_text(w.task)}, {"target", w.task.target}, {"machine", w.task.machine}, {"records", w.records}, {"best_seconds", w.best_seconds}});
    } else {
      fmt::print("{:<24} {:>6} {:<6}  best {:>11}  {}  {}\n", w.name, w.records, plural(w.records, "trial"), w.best_seconds > 0 ? duration_text(w.best_seconds) : "-", workload_text(w.task), w.task.target);
    }
  }
  if (workloads.empty() && !request.arguments.json()) { fmt::print("nothing was tuned\n"); }
  return exit_done;
}

auto export_all(Request& request, tune::Database& database, const Workloads& workloads) -> int {
  const std::string path = request.arguments.get("--output", "");
  std::string text;
  int64_t count = 0;
  for (const auto& w : workloads) {
    if (request.has_subject() && w.name != request.subject() && workload_text(w.task) != request.subject()) { continue; }
    auto records = database.records(w.task);
    if (!records) { return request.fail(records.diagnostics()); }
    for (const tune::Record& r : *records) {
      json line = record_json(w, r);
      line["text"] = w.text;
      ++count;
      if (path.empty()) { print_line(line); } else { text += line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }
    }
  }
  if (path.empty()) { return exit_done; }
  if (Status written = write_file(path, text); !written.ok()) { return request.fail(written.diagnostics()); }
  fmt::print("{} written to `{}`\n", count_text(count, "trial"), path);
  return exit_done;
}

/// The trials of templates, or of tasks of the auto-scheduler, as lines of a log.
auto export_log(Request& request, tune::Database& database, const Workloads& workloads, script::LineForm form) -> int {
  std::string text;
  for (const auto& w : workloads) {
    if (request.has_subject() && w.name != request.subject() && workload_text(w.task) != request.subject()) { continue; }
    auto records = database.records(w.task);
    if (!records) { return request.fail(records.diagnostics()); }
    for (const tune::Record& r : *records) {
      const std::string line = log_line_of(r);
      if (!line.empty() && script::form_of_line(line) == form) { text += line + "\n"; }
    }
  }
  if (text.empty()) {
    fmt::print(stderr, "loopsmith db: the database has no trials of {}\n", form == script::LineForm::AutoTvm ? "templates of AutoTVM" : "tasks of the auto-scheduler");
    return exit_input;
  }
  if (const std::string path = request.arguments.get("--output", ""); !path.empty()) {
    if (Status written = write_file(path, text); !written.ok()) { return request.fail(written.diagnostics()); }
  } else {
    fmt::print("{}", text);
  }
  return exit_done;
}

auto export_metaschedule(Request& request, tune::Database& database, const Workloads& workloads) -> int {
  TvmExport out;
  for (const auto& w : workloads) {
    if (request.has_subject() && w.name != request.subject() && workload_text(w.task) != request.subject()) { continue; }
    auto records = database.records(w.task);
    if (!records) { return request.fail(records.diagnostics()); }
    if (auto added = add_to_export(out, w, *records, request.path); !added) { return request.fail(added.diagnostics()); }
  }
  std::string folder = request.arguments.get("--output", ".");
  if (auto written = write_export(out, folder); !written) { return request.fail(written.diagnostics()); }
  fmt::print("{} and {} written to `{}`\n", count_text(out.programs, "program"), count_text(out.trials, "trial"), folder);
  return exit_done;
}

/// The program that the request names; of several targets or machines the one with most trials.
auto pick_workload(const Request& request, const Workloads& workloads) -> Result<const tune::Database::Workload*> {
  const tune::Database::Workload* picked = nullptr;
  std::vector<std::string> names;
  for (const auto& w : workloads) {
    names.push_back(w.name);
    if ((w.name == request.subject() || workload_text(w.task) == request.subject()) && (!picked || w.records > picked->records)) { picked = &w; }
  }
  if (picked != nullptr) { return picked; }
  Diagnostic d = unreadable(request.path, because(Why::NoTrialsOf).arg("subject", request.subject()));
  if (request.arguments.has("--target")) { return std::move(d).remedy("pick a target of `loopsmith db list` by a part of its text, or leave `--target` out"); }
  std::string meant = closest(request.subject(), names);
  return meant.empty() ? std::move(d) : std::move(d).remedy(fmt::format("did you mean `{}`?", meant));
}

/// Implements `best`, `export --tvm` and `show` for one program.
auto show_one(Request& request, tune::Database& database, const tune::Database::Workload& picked) -> int {
  auto fail = [&](const Reason& why) { return request.fail({unreadable(request.path, why)}); };
  if (request.verb == "best") {
    auto best = database.best(picked.task);
    if (!best) { return request.fail(best.diagnostics()); }
    if (!*best) { return fail(because(Why::NoMeasuredTrial).arg("subject", request.subject())); }
    fmt::print("{}\n", (*best)->trace);
    return exit_done;
  }
  auto records = database.records(picked.task);
  if (!records) { return request.fail(records.diagnostics()); }
  if (request.verb == "export") {
    auto file = SourceFile::from_text(picked.name, picked.text);
    auto parsed = workspace::find_program(*file->snapshot(), {});
    if (!parsed || !parsed->module || parsed->module->functions.empty()) { return fail(because(Why::TextNoProgram).arg("name", request.subject())); }
    for (const tune::Record& r : *records) {
      if (r.outcome == tune::Outcome::Measured) { print_line(tvm_record(picked, r, parsed->module->functions.front().second)); }
    }
    return exit_done;
  }
  for (const tune::Record& r : *records) {
    if (request.arguments.json()) { print_line(record_json(picked, r)); continue; }
    const bool timed = r.outcome == tune::Outcome::Measured || r.outcome == tune::Outcome::Censored;
    fmt::print("{:>6}  {:<9} {:>11}{}  {}{}\n", r.trial, tune::outcome_name(r.outcome), timed ? duration_text(r.median_seconds) : "-",
               timed && r.median_seconds > 0 ? fmt::format(" +- {:.1f}%", 100 * r.spread_seconds / r.median_seconds) : "", r.verified.empty() ? "" : "verified: " + r.verified + " ", r.note);
  }
  return exit_done;
}

}  // namespace

auto db(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  Request request{.arguments = arguments, .verb = arguments.positional()[0], .path = arguments.get("--db", tune::Database::default_path()), .workload = {}, .unwanted = {},
                  .reporter = Reporter(arguments)};
  if (auto status = check(request)) { return *status; }
  if (request.verb == "import") { return import_records(request); }
  // Opening a missing database would create it.
  if (!std::filesystem::exists(request.path)) {
    return request.fail({unreadable(request.path, because(Why::NoSuchFile)).remedy("run `loopsmith tune` first")});
  }
  auto database = tune::Database::open(request.path);
  if (!database) { return request.fail(database.diagnostics()); }
  if (request.verb == "gc") { return collect_garbage(request, *database); }
  if (request.verb == "history") { return history(request, *database); }
  if (request.verb == "explain") { return explain(request, *database); }
  auto workloads = database->workloads();
  if (!workloads) { return request.fail(workloads.diagnostics()); }
  if (auto target = arguments.get("--target")) {
    std::erase_if(*workloads, [&](const auto& w) { return w.task.target.find(*target) == std::string::npos; });
  }
  if (request.verb == "list") { return list(request, *workloads); }
  const std::string format = arguments.get("--format", "lines");
  if (request.verb == "export" && format == "metaschedule") { return export_metaschedule(request, *database, *workloads); }
  if (request.verb == "export" && format != "lines") { return export_log(request, *database, *workloads, format == "autotvm" ? script::LineForm::AutoTvm : script::LineForm::Ansor); }
  if (request.verb == "export" && !arguments.has("--tvm")) { return export_all(request, *database, *workloads); }
  auto picked = pick_workload(request, *workloads);
  if (!picked) { return request.fail(picked.diagnostics()); }
  return show_one(request, *database, **picked);
}

}  // namespace loopsmith::driver::commands
