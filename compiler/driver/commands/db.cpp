// `loopsmith db list|show|best|export|import|gc`: what the tuning database holds, to and from files, and what of it is forgotten.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/execution.h"
#include "driver/program.h"
#include "driver/records.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/hash.h"
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
    .summary = "Shows what was tuned: programs, their trials, the best trace of one, or all of it as lines of JSON; takes lines in; forgets.",
    .details = "`best` prints the fastest measured trial's trace in TVM's JSON, for `schedule --trace`. A program tuned for several targets or\n"
               "machines is picked by `--target`, a part of the target's text, or else the one with most trials is meant.\n"
               "`export` writes a line for each trial, with its program's text, and `import` takes such lines: those that are there already\n"
               "once, all of them or, where one cannot be read, none. `export PROGRAM --tvm` writes measured trials as TVM's database does\n"
               "(database_tuning_record.json); `import F --program FILE` takes those, whose traces are applied to the program: those that\n"
               "fail are left out. `gc` forgets programs without trials, and the trials that `--keep` and `--older` say, but never the best\n"
               "of a program; what was forgotten is measured again where a search comes across it. `explain FILE` says of a program in a file which\n"
               "records are used for it, and why others are not: of another text, machine, not verified, or with steps that do not work.\n"
               "`history FILE` says what the searches for it on this machine found, one after the other, in Markdown.",
    .options = {{.name = "--db", .value = "F", .help = "the database; that of `tune`"},
                {.name = "--target", .value = "T", .help = "only what was tuned for a target with this in its text"},
                {.name = "--tvm", .help = "`export`: as TVM's database has them"},
                {.name = "--program", .value = "FILE", .help = "`import`: what TVM's records are of"},
                {.name = "--function", .value = "F", .help = "`import`, `explain`, `history`: the program meant, where FILE has several"},
                {.name = "--workload", .value = "N", .help = "`import`: its line in database_workload.json, from 0; the only one"},
                {.name = "--keep", .value = "N", .help = "`gc`: so many trials of each program, the fastest"},
                {.name = "--older", .value = "DAYS", .help = "`gc`: trials measured longer ago"},
                json_option},
    .examples = {{"loopsmith db list", "what was tuned"},
                 {"loopsmith db best matmul > best.json", "then: loopsmith schedule matmul.tir --trace best.json"},
                 {"loopsmith db export --db tuning.db > records.jsonl", "for other tools, and for `import` on another machine"},
                 {"loopsmith db import database_tuning_record.json --program matmul.tir", "what TVM's tuner found"},
                 {"loopsmith db explain matmul.tir", "why a record is used for it, or is not"},
                 {"loopsmith db history matmul.tir", "how the best came down, search by search"},
                 {"loopsmith db gc --keep 100", "a smaller database"}},
    .least = 1,
    .most = 2,
};

using nlohmann::json;

void print_line(const json& line) { fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace)); }

/// The lines of a file; empty ones are left out.
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

struct Taken { size_t added = 0, known = 0, refused = 0; };

/// Adds a record unless one like it is there.
auto take(tune::Database& database, const ReadRecord& read, Taken& taken) -> Status {
  const tune::TaskKey& task = read.workload.task;
  LOOPSMITH_CHECK(database.add_workload(task, read.workload.name, read.workload.text));
  LOOPSMITH_TRY(known, database.find(task, read.record.candidate));
  if (known && known->trace == read.record.trace) {
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

/// What is known of a time from elsewhere: nothing of the machine.
constexpr const char* tvm_machine = "unknown (imported from TVM)";

auto take_tvm(tune::Database& database, const std::string& path, const std::string& text, const Selection& selection, std::optional<int64_t> workload, Taken& taken) -> Status {
  std::optional<int64_t> seen;
  int trial = 0;
  for (auto [number, line] : lines_of(text)) {
    std::string place = fmt::format("{}:{}", path, number);
    LOOPSMITH_TRY(read, read_tvm_record(json::parse(line, nullptr, false), place));
    if (workload && read.workload != *workload) { continue; }
    if (seen && *seen != read.workload) {
      return error(Code::CannotRead).arg("file", place).arg("why", "it is of another program than the lines before")
          .remedy("say which is meant: `--workload N`, its line in database_workload.json, from 0");
    }
    seen = read.workload;
    ++trial;
    auto trace = schedule::trace_from_json(read.trace);
    schedule::Schedule sch(selection.before, 1);
    if (!trace || !sch.replay(*trace) || read.target.empty()) {
      ++taken.refused;
      continue;
    }
    ReadRecord one;
    one.workload.task = {structural_hash(selection.before), read.target, tvm_machine};
    one.workload.name = selection.program.str();
    one.workload.text = print_script(selection.before);
    one.record.trace = read.trace;
    one.record.candidate = hash_bytes(read.trace);
    one.record.trial = trial;
    one.record.median_seconds = read.seconds;
    if (read.seconds <= 0) {
      one.record.outcome = tune::Outcome::Rejected;
      one.record.note = "it was not measured";
    }
    LOOPSMITH_CHECK(take(database, one, taken));
  }
  return ok();
}

}  // namespace

auto db(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  const std::string& what = arguments.positional()[0];
  const std::vector<std::string> verbs = {"list", "show", "best", "explain", "history", "export", "import", "gc"};
  if (std::find(verbs.begin(), verbs.end(), what) == verbs.end()) {
    std::string meant = closest(what, verbs);
    return usage_error("db", fmt::format("it lists, shows, gives the best, explains, tells the history, exports, imports and forgets (`gc`); there is no `{}`{}", what, meant.empty() ? "" : fmt::format("; did you mean `{}`?", meant)));
  }
  const bool of_one = what == "show" || what == "best" || (what == "export" && arguments.has("--tvm"));
  const bool has_second = arguments.positional().size() == 2;
  if (what == "import" && !has_second) { return usage_error("db", "`import` needs a file, which `export` or TVM wrote; `-` is standard input"); }
  if (of_one && !has_second) { return usage_error("db", fmt::format("`{}` needs the name of a PROGRAM", what == "export" ? "export --tvm" : what)); }
  if ((what == "explain" || what == "history") && !has_second) { return usage_error("db", fmt::format("`{}` needs the FILE with the program", what)); }
  if (has_second && !of_one && what != "import" && what != "export" && what != "explain" && what != "history") { return usage_error("db", fmt::format("`{}` takes no PROGRAM", what)); }
  std::optional<int64_t> workload;
  tune::Database::Unwanted unwanted;
  for (auto [option, of, number] : {std::tuple{"--workload", "import", &workload}, {"--keep", "gc", &unwanted.beyond}, {"--older", "gc", &unwanted.before}}) {
    auto text = arguments.get(option);
    if (!text) { continue; }
    if (what != of) { return usage_error("db", fmt::format("`{}` is for `{}`", option, of)); }
    *number = parse_number(*text, 0, 1'000'000'000);
    if (!*number) { return usage_error("db", fmt::format("`{}` is a number from 0 on, not `{}`", option, *text)); }
  }
  if (unwanted.before) { unwanted.before = static_cast<int64_t>(std::time(nullptr)) - *unwanted.before * 86400; }
  Reporter reporter(arguments);
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, nullptr);
    return reporter.status();
  };
  const std::string path = arguments.get("--db", tune::Database::default_path());
  // Opening would make one.
  if (what != "import" && !std::filesystem::exists(path)) { return fail({error(Code::CannotRead).arg("file", path).arg("why", "there is no such file; `loopsmith tune` makes it")}); }
  if (what == "import") {
    const std::string& from = arguments.positional()[1];
    auto text = read_file(from);
    if (!text) { return fail(text.diagnostics()); }
    std::optional<Selection> selection;
    if (auto program = arguments.get("--program")) {
      auto picked = pick(arguments, {.path = *program}, reporter);
      if (const int* status = std::get_if<int>(&picked)) { return *status; }
      selection = std::move(std::get<Selection>(picked));
    }
    auto into = tune::Database::open(path);
    if (!into) { return fail(into.diagnostics()); }
    Taken taken;
    auto done = into->at_once([&] { return selection ? take_tvm(*into, from, *text, *selection, workload, taken) : take_own(*into, from, *text, taken); });
    if (!done) { return fail(done.diagnostics()); }
    if (auto kept = into->sync(); !kept) { return fail(kept.diagnostics()); }
    if (arguments.json()) {
      print_line({{"added", taken.added}, {"known", taken.known}, {"refused", taken.refused}});
    } else {
      fmt::print("{} trials added, {} known already{}\n", taken.added, taken.known,
                 taken.refused > 0 ? fmt::format(", {} left out: their traces do not apply to `{}`", taken.refused, selection->program.str()) : "");
    }
    return exit_done;
  }
  auto database = tune::Database::open(path);
  if (!database) { return fail(database.diagnostics()); }
  if (what == "gc") {
    std::error_code unknown;
    auto before = std::filesystem::file_size(path, unknown);
    auto gone = database->forget(unwanted);
    if (!gone) { return fail(gone.diagnostics()); }
    auto after = std::filesystem::file_size(path, unknown);
    if (arguments.json()) {
      print_line({{"trials", gone->records}, {"programs", gone->workloads}, {"bytes_before", before}, {"bytes", after}});
    } else {
      fmt::print("{} trials and {} programs forgotten; {} bytes, before {}\n", gone->records, gone->workloads, after, before);
    }
    return exit_done;
  }
  if (what == "history") {
    auto picked = pick(arguments, {.path = arguments.positional()[1]}, reporter);
    if (const int* status = std::get_if<int>(&picked)) { return *status; }
    const auto& selection = std::get<Selection>(picked);
    auto history = tune::records_history(*database, selection.before, selection.program.str(), target::machine_identity());
    if (!history) { return fail(history.diagnostics()); }
    if (arguments.json()) { print_line({{"program", selection.program.str()}, {"text", *history}}); } else { fmt::print("{}", *history); }
    return exit_done;
  }
  if (what == "explain") {
    auto picked = pick(arguments, {.path = arguments.positional()[1]}, reporter);
    if (const int* status = std::get_if<int>(&picked)) { return *status; }
    const auto& selection = std::get<Selection>(picked);
    auto explained = tune::explain_records(*database, selection.before, selection.program.str(), target::machine_identity());
    if (!explained) { return fail(explained.diagnostics()); }
    for (const tune::TaskExplained& task : arguments.json() ? explained->tasks : std::vector<tune::TaskExplained>()) {
      print_line({{"program", explained->program}, {"workload", workload_text(task.task)}, {"target", task.task.target}, {"machine", task.task.machine},
                  {"same_program", task.is_same_program}, {"this_machine", task.is_this_machine}, {"records", task.records}, {"measured", task.measured},
                  {"verified", task.verified}, {"best_seconds", task.best_seconds}, {"applies", task.why_not_applied.empty()}, {"used", task.is_used}});
    }
    if (!arguments.json()) { fmt::print("{}", tune::text_of(*explained, path)); }
    return exit_done;
  }
  auto workloads = database->workloads();
  if (!workloads) { return fail(workloads.diagnostics()); }
  if (auto target = arguments.get("--target")) {
    std::erase_if(*workloads, [&](const auto& w) { return w.task.target.find(*target) == std::string::npos; });
  }
  if (what == "list") {
    for (const auto& w : *workloads) {
      if (arguments.json()) {
        print_line({{"program", w.name}, {"workload", workload_text(w.task)}, {"target", w.task.target}, {"machine", w.task.machine}, {"records", w.records}, {"best_seconds", w.best_seconds}});
      } else {
        fmt::print("{:<24} {:>6} trials  best {:>11}  {}  {}\n", w.name, w.records, w.best_seconds > 0 ? duration_text(w.best_seconds) : "-", workload_text(w.task), w.task.target);
      }
    }
    if (workloads->empty() && !arguments.json()) { fmt::print("nothing was tuned\n"); }
    return exit_done;
  }
  if (what == "export" && !arguments.has("--tvm")) {
    for (const auto& w : *workloads) {
      if (has_second && w.name != arguments.positional()[1] && workload_text(w.task) != arguments.positional()[1]) { continue; }
      auto records = database->records(w.task);
      if (!records) { return fail(records.diagnostics()); }
      for (const tune::Record& r : *records) {
        json line = record_json(w, r);
        line["text"] = w.text;
        print_line(line);
      }
    }
    return exit_done;
  }
  const std::string& program = arguments.positional()[1];
  const tune::Database::Workload* picked = nullptr;
  std::vector<std::string> names;
  for (const auto& w : *workloads) {
    names.push_back(w.name);
    if ((w.name == program || workload_text(w.task) == program) && (!picked || w.records > picked->records)) { picked = &w; }
  }
  if (!picked) {
    Diagnostic d = error(Code::CannotRead).arg("file", path).arg("why", fmt::format("it has no trials of `{}`", program));
    std::string meant = closest(program, names);
    return fail({meant.empty() ? std::move(d) : std::move(d).remedy(fmt::format("did you mean `{}`?", meant))});
  }
  if (what == "best") {
    auto best = database->best(picked->task);
    if (!best) { return fail(best.diagnostics()); }
    if (!*best) { return fail({error(Code::CannotRead).arg("file", path).arg("why", fmt::format("no trial of `{}` was measured", program))}); }
    fmt::print("{}\n", (*best)->trace);
    return exit_done;
  }
  auto records = database->records(picked->task);
  if (!records) { return fail(records.diagnostics()); }
  if (what == "export") {
    auto file = SourceFile::from_text(picked->name, picked->text);
    auto parsed = workspace::find_program(*file->snapshot(), {});
    if (!parsed || !parsed->module || parsed->module->functions.empty()) { return fail({error(Code::CannotRead).arg("file", path).arg("why", fmt::format("the text of `{}` in it is no program", program))}); }
    for (const tune::Record& r : *records) {
      if (r.outcome == tune::Outcome::Measured) { print_line(tvm_record(*picked, r, parsed->module->functions.front().second)); }
    }
    return exit_done;
  }
  for (const tune::Record& r : *records) {
    if (arguments.json()) { print_line(record_json(*picked, r)); continue; }
    const bool timed = r.outcome == tune::Outcome::Measured || r.outcome == tune::Outcome::Censored;
    fmt::print("{:>6}  {:<9} {:>11}{}  {}{}\n", r.trial, tune::outcome_name(r.outcome), timed ? duration_text(r.median_seconds) : "-",
               timed && r.median_seconds > 0 ? fmt::format(" +- {:.1f}%", 100 * r.spread_seconds / r.median_seconds) : "", r.verified.empty() ? "" : "verified: " + r.verified + " ", r.note);
  }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
