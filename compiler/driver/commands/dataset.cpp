// `loopsmith dataset export|show`: measured candidates with their features, for cost models.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/datasets.h"
#include "driver/program.h"
#include "support/spelling.h"
#include "support/text.h"
#include "tune/database/database.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "dataset",
    .arguments = "export [PROGRAM] -o SET | show SET...",
    .summary = "Exports measured candidates with their features as a data set for cost models; shows sets.",
    .details = "`export` replays each measured trial of the tuning database on its program and writes a line of JSON: the task, the seconds, the draft, and\n"
               "for each stored buffer the 164 features of TVM's PerStoreFeature. `--format numpy` writes NumPy's files into a folder. Trials without\n"
               "a time are left out. `show` prints the tasks of sets; a tuning database is a set, too. `loopsmith model` trains models from sets.",
    .options = {{.name = "--db", .value = "F", .help = "the database; the default is that of `tune`"},
                {.name = "--target", .value = "T", .help = "only trials for targets with this in their text"},
                {.name = "--format", .value = "F", .help = "`lines`, the default, or `numpy`"},
                {.name = "--output", .value = "SET", .help = "the file of the lines, or the folder of NumPy's files; without it lines go to standard output", .short_name = "-o"},
                json_option},
    .examples = {{"loopsmith tune matmul.tir --search random --trials 256 --db tuning.db", "collects candidates"},
                 {"loopsmith dataset export --db tuning.db -o set.jsonl", "the trials of all programs with their features"},
                 {"loopsmith dataset export --db tuning.db --format numpy -o arrays", "features.npy, seconds.npy and others"},
                 {"loopsmith dataset show set.jsonl", "a line for each task"}},
    .least = 1,
    .most = 100,
};

auto fail(Reporter& reporter, const Diagnostics& diagnostics) -> int {
  reporter.report(diagnostics, nullptr);
  return reporter.status();
}

auto export_set(const Arguments& arguments, Reporter& reporter) -> int {
  const std::string format = arguments.get("--format", "lines"), output = arguments.get("--output", "");
  if (arguments.positional().size() > 2) { return usage_error("dataset", "`export` takes one PROGRAM"); }
  if (format != "lines" && format != "numpy") { return usage_error("dataset", fmt::format("there is no format `{}`; use `lines` or `numpy`", format)); }
  if (format == "numpy" && output.empty()) { return usage_error("dataset", "`--format numpy` needs a folder: `-o DIR`"); }
  const std::string path = arguments.get("--db", tune::Database::default_path());
  const std::string program = arguments.positional().size() == 2 ? arguments.positional()[1] : "";
  auto set = dataset_of_database(path, program, arguments.get("--target", ""));
  if (!set) { return fail(reporter, set.diagnostics()); }
  if (output.empty()) {
    fmt::print("{}", dataset_lines(*set));
    return exit_done;
  }
  const Status written = format == "numpy" ? write_numpy(*set, output) : write_text_file(output, dataset_lines(*set));
  if (!written) { return fail(reporter, written.diagnostics()); }
  const std::string left_out = set->left_out > 0 ? fmt::format("; {} without a time, or with a trace that does not apply, left out", set->left_out) : "";
  if (arguments.json()) { fmt::print("{}\n", nlohmann::json({{"samples", set->samples.size()}, {"left_out", set->left_out}}).dump()); }
  else { fmt::print("{} written to `{}`{}\n", count_text(static_cast<int64_t>(set->samples.size()), "sample"), output, left_out); }
  return exit_done;
}

auto show_sets(const Arguments& arguments, Reporter& reporter) -> int {
  if (arguments.positional().size() < 2) { return usage_error("dataset", "`show` needs a SET"); }
  for (size_t i = 1; i < arguments.positional().size(); ++i) {
    auto set = read_dataset(arguments.positional()[i]);
    if (!set) { return fail(reporter, set.diagnostics()); }
    struct Row { std::string program, target; size_t samples = 0; double best = 0, worst = 0; };
    std::map<std::string, Row> tasks;
    for (const tune::Sample& sample : set->samples) {
      Row& row = tasks[sample.task];
      row.program = sample.program;
      row.target = sample.target;
      ++row.samples;
      row.best = row.best == 0 ? sample.seconds : std::min(row.best, sample.seconds);
      row.worst = std::max(row.worst, sample.seconds);
    }
    for (const auto& [task, row] : tasks) {
      if (arguments.json()) { fmt::print("{}\n", nlohmann::json({{"program", row.program}, {"target", row.target}, {"samples", row.samples}, {"best_seconds", row.best}, {"worst_seconds", row.worst}}).dump()); }
      else { fmt::print("{:<24} {:>6} {:<7}  {:>10} to {:<10}  {}\n", row.program, row.samples, plural(static_cast<int64_t>(row.samples), "sample"), duration_text(row.best), duration_text(row.worst), row.target); }
    }
  }
  return exit_done;
}

}  // namespace

auto dataset(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  Reporter reporter(arguments);
  const std::string& verb = arguments.positional()[0];
  if (verb == "export") { return export_set(arguments, reporter); }
  if (verb == "show") { return show_sets(arguments, reporter); }
  const std::string meant = closest(verb, {"export", "show"});
  return usage_error("dataset", fmt::format("there is no `{}`{} Use export or show", verb, meant.empty() ? "." : fmt::format("; did you mean `{}`?", meant)));
}

}  // namespace loopsmith::driver::commands
