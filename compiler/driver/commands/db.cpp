// `loopsmith db list|show|best|export`: what the tuning database holds. It reads; `tune` is what writes.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/execution.h"
#include "driver/program.h"
#include "support/codes.h"
#include "tune/database/database.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "db",
    .arguments = "list | show PROGRAM | best PROGRAM | export [--db F] [--target T]",
    .summary = "Shows what was tuned: programs, their trials, the best trace of one, or all of it as lines of JSON.",
    .details = "`best` prints the fastest measured trial's trace in TVM's JSON, for `schedule --trace`. A program tuned for several targets or\n"
               "machines is picked by `--target`, a part of the target's text, or else the one with most trials is meant. `export` is our own form, a\n"
               "line for each trial with its program's text; records of TVM's own database are not read or written.",
    .options = {{.name = "--db", .value = "F", .help = "the database; that of `tune`"},
                {.name = "--target", .value = "T", .help = "only what was tuned for a target with this in its text"},
                json_option},
    .examples = {{"loopsmith db list", "what was tuned"},
                 {"loopsmith db best matmul > best.json", "then: loopsmith schedule matmul.tir --trace best.json"},
                 {"loopsmith db export --db tuning.db > records.jsonl", "for other tools"}},
    .least = 1,
    .most = 2,
};

using nlohmann::json;

void print_line(const json& line) { fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace)); }

auto key_text(const tune::TaskKey& key) -> std::string { return fmt::format("{:016x}", key.workload); }

auto record_json(const tune::Database::Workload& w, const tune::Record& r) -> json {
  return {{"program", w.name},          {"workload", key_text(w.task)},      {"target", w.task.target},    {"machine", w.task.machine}, {"trial", r.trial},
          {"seed", r.seed},             {"outcome", tune::outcome_name(r.outcome)}, {"seconds", r.median_seconds}, {"spread", r.spread_seconds}, {"blocks", r.blocks},
          {"verified", r.verified},     {"note", r.note},                    {"time", r.unix_time},        {"trace", r.trace}};
}

}  // namespace

auto db(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  const std::string& what = arguments.positional()[0];
  const std::vector<std::string> verbs = {"list", "show", "best", "export"};
  if (std::find(verbs.begin(), verbs.end(), what) == verbs.end()) {
    std::string meant = closest(what, verbs);
    return usage_error("db", fmt::format("it lists, shows, gives the best or exports; there is no `{}`{}", what, meant.empty() ? "" : fmt::format("; did you mean `{}`?", meant)));
  }
  const bool of_one = what == "show" || what == "best";
  if (of_one != (arguments.positional().size() == 2)) { return usage_error("db", of_one ? fmt::format("`{}` needs the name of a PROGRAM", what) : fmt::format("`{}` takes no PROGRAM", what)); }
  Reporter reporter(arguments);
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, nullptr);
    return reporter.status();
  };
  const std::string path = arguments.get("--db", tune::Database::default_path());
  // Opening would make one.
  if (!std::filesystem::exists(path)) { return fail({error(Code::CannotRead).arg("file", path).arg("why", "there is no such file; `loopsmith tune` makes it")}); }
  auto database = tune::Database::open(path);
  if (!database) { return fail(database.diagnostics()); }
  auto workloads = database->workloads();
  if (!workloads) { return fail(workloads.diagnostics()); }
  if (auto target = arguments.get("--target")) {
    std::erase_if(*workloads, [&](const auto& w) { return w.task.target.find(*target) == std::string::npos; });
  }
  if (what == "list") {
    for (const auto& w : *workloads) {
      if (arguments.json()) {
        print_line({{"program", w.name}, {"workload", key_text(w.task)}, {"target", w.task.target}, {"machine", w.task.machine}, {"records", w.records}, {"best_seconds", w.best_seconds}});
      } else {
        fmt::print("{:<24} {:>6} trials  best {:>11}  {}  {}\n", w.name, w.records, w.best_seconds > 0 ? time_text(w.best_seconds) : "-", key_text(w.task), w.task.target);
      }
    }
    if (workloads->empty() && !arguments.json()) { fmt::print("nothing was tuned\n"); }
    return exit_done;
  }
  if (what == "export") {
    for (const auto& w : *workloads) {
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
    if ((w.name == program || key_text(w.task) == program) && (!picked || w.records > picked->records)) { picked = &w; }
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
  for (const tune::Record& r : *records) {
    if (arguments.json()) { print_line(record_json(*picked, r)); continue; }
    const bool timed = r.outcome == tune::Outcome::Measured || r.outcome == tune::Outcome::Censored;
    fmt::print("{:>6}  {:<9} {:>11}{}  {}{}\n", r.trial, tune::outcome_name(r.outcome), timed ? time_text(r.median_seconds) : "-",
               timed && r.median_seconds > 0 ? fmt::format(" +- {:.1f}%", 100 * r.spread_seconds / r.median_seconds) : "", r.verified.empty() ? "" : "verified: " + r.verified + " ", r.note);
  }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
