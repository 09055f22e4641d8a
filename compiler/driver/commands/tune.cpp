// `loopsmith tune FILE`: searches for a fast schedule, with live progress (tune_progress.h); `--insert` writes the best one into the file (tune_results.h).
// Several programs are searched together (tune_several.h). Editors start it with `--json` in the background.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/commands/ansor_search.h"
#include "driver/commands/candidates.h"
#include "driver/commands/template_search.h"
#include "driver/commands/tune_model.h"
#include "driver/commands/tune_progress.h"
#include "driver/commands/tune_results.h"
#include "driver/commands/tune_several.h"
#include "driver/commands/tune_shared.h"
#include "driver/commands/tune_sizes.h"
#include "driver/commands/tuner_log.h"
#include "driver/execution.h"
#include "driver/program.h"
#include "driver/tuner_pieces.h"
#include "ir/vocabulary.h"
#include "script/auto_scheduler/log.h"
#include "script/autotvm/space.h"
#include "script/autotvm/templates.h"
#include "script/log_lines.h"
#include "support/process.h"
#include "support/text.h"
#include "tune/session/explain_space.h"
#include "tune/space/given_traces.h"
#include "tune/space/trace_spaces.h"
#include "workspace/edits/block_program.h"
#include "workspace/edits/placing.h"
#include "workspace/imports.h"

namespace loopsmith::driver::commands {
namespace {

/// The paragraphs of the help text, with a line for each search.
auto details() -> const std::string& {
  static const std::string text = [] {
    std::string out = "Candidates run in processes of their own with limits, so one that crashes or never ends does not stop the search. Ctrl-C stops it,\n"
                      "compares the best candidate with the program and keeps it; a second Ctrl-C skips the comparison and keeps nothing. All measurements\n"
                      "are kept in the database, and the same command continues where it stopped. With a schedule function the search fills its\n"
                      "`sch.tune(budget=\"2min\")`, or `...` as a statement; it begins with the program in front of that statement. A schedule function that samples\n"
                      "numbers (`sch.sample_perfect_tile` and its like) is itself the space: the search decides each of them. So is an AutoTVM template: the search\n"
                      "decides its knobs, begins as the file asks (`XGBTuner`, `n_trial`), and prints the best record for `--log`.\n\n"
                      "Several files, or `--all`, are tuned together: the budget goes to the programs with the largest expected gain.\n\nSearches:\n";
    for (const tune::SearchKind& kind : tune::search_kinds()) { out += fmt::format("  {:<13} {}\n", kind.name, kind.summary); }
    out += "\nModels:\n";
    for (const tune::ModelKind& kind : tune::model_kinds()) { out += fmt::format("  {:<13} {}\n", kind.name, kind.summary); }
    out.pop_back();
    return out;
  }();
  return text;
}

const Usage usage{
    .command = "tune",
    .arguments = "FILE... [--function F | --with NAME] [--target T] [--trials N | --time S | --effort E] [--search NAME] [--db F] [--insert]",
    .summary = "Searches for a fast schedule of a program by building and measuring candidates.",
    .details = details(),
    .options = {function_option,
                {.name = "--with", .value = "NAME", .help = "the schedule function whose `sch.tune()` is filled, or whose samples are decided"},
                target_option,
                {.name = "--trials", .value = "N", .help = "candidates to measure"},
                {.name = "--time", .value = "S", .help = "the time for all of it: 30, 90s, 2min; a part is kept for comparing the best with the program. Without --trials the default is 1min"},
                {.name = "--db", .value = "F", .help = "the database of all measurements; the default is below XDG_DATA_HOME"},
                {.name = "--seed", .value = "N", .help = "the seed of the search; the default is 0"},
                {.name = "--effort", .value = "E", .help = "quick: 32 candidates; normal: 256; full: 1024, in place of --trials"},
                {.name = "--search", .value = "NAME", .help = "the search, as listed above; the default is guided. Parameters stand in parentheses: `evolutionary(population_size=128)`"},
                {.name = "--strategy", .value = "NAME", .help = "the same as --search"},
                {.name = "--space", .value = "S", .help = "the candidates: `own` (the default on processors); `metaschedule`, the traces of TVM's rules (the default on devices); `ansor`, the sketches of the auto-scheduler for a task (the default where the file calls `task.tune`); or a call such as `ScheduleFn(tiles)`"},
                {.name = "--model", .value = "M", .help = "the model that corrects the draft, as listed above (the default is residual); or a model of whole candidates: a class of the file, `Mine` or `Mine(64)`, or the file of a trained model"},
                {.name = "--model-state", .value = "F", .help = "the attributes of a model that the file writes: read before the search if F exists, and written after it"},
                {.name = "--runner", .value = "R", .help = "a class of the file that gives candidates their times, `Mine` or `Mine(8)`, in place of measurements; `local`, the default, measures them here"},
                {.name = "--arguments", .value = "F", .help = "a function of the file that makes the contents of the program's buffers for measurements: `F(device, args_info, alloc_repeat)`, as TVM's f_alloc_argument; otherwise they are random"},
                {.name = "--builder", .value = "B", .help = "with --runner: a class of the file that makes the artefacts for the runner"},
                {.name = "--batch", .value = "N", .help = "candidates that are measured between two proposals of the search; the default depends on the search"},
                {.name = "--build-limit", .value = "S", .help = "the time after which the build of a candidate ends; the default is 10 s, and less where other builds are short. Time without a processor on a loaded machine does not count"},
                {.name = "--measure-limit", .value = "S", .help = "the time after which the measurement of a candidate ends; the default is 10 s, and less beside a fast candidate"},
                rules_option, postprocs_option, mutators_option, pieces_option,
                {.name = "--transfer", .help = "also tries the fastest recorded schedules of other programs with the same target, such as other sizes, where they apply"},
                {.name = "--keep-order", .help = "takes only schedules that add real numbers in the order of the program"},
                {.name = "--explain-space", .help = "prints the sketches with their knobs, the numbers of their tried points, and the reasons why units do not fit; measures nothing"},
                {.name = "--causes", .value = "DIR", .help = "the folder for traces that reproduce failed candidates; the default is beside the database"},
                {.name = "--log", .value = "F", .help = "appends the trials of an AutoTVM template, or of a task of the auto-scheduler, to this log in TVM's form"},
                {.name = "--weights", .value = "LIST", .help = "with several programs: the weight of each, in their order, as `2,1`; the default is 1 for each"},
                {.name = "--scheduler", .value = "S", .help = "with several programs: gain, the default, gives trials to the program with the largest expected gain; `gradient` and `gradient(alpha=0.2, window_size=3)` divide them as TVM does; `round-robin` in turns; or a class of the file, `Mine` or `Mine(8)`"},
                {.name = "--all", .help = "tunes all programs of a file together"},
                sizes_option,
                size_option,
                share_option,
                candidate_option,
                {.name = "--workers", .value = "N", .help = "processes that build candidates; the default is 2, for CUDA the number of cores up to 16"},
                {.name = "--insert", .help = "writes the best schedule into the file"},
                {.name = "--no-verify", .help = "offers the best schedule without comparing its results with the program's"},
                json_option},
    .examples = {{"loopsmith tune matmul.tir --time 60 --insert", "after a minute the file contains the best schedule"},
                 {"loopsmith tune matmul.tir --trials 128 --db tuning.db", "128 candidates"},
                 {"loopsmith tune matmul.tir --with tiled --insert", "the steps that were found replace `sch.tune()` in `tiled`"},
                 {"loopsmith tune matmul.tir softmax.tir --time 5min", "both; a table at the end"},
                 {"loopsmith tune matmul.tir --rules tiles,ParallelizeVectorizeUnroll", "the traces of the rule `tiles` of the file, and of one of TVM's"},
                 {"loopsmith tune matmul.tir --candidate 'sch.parallel(sch.get_loops(\"C\")[0])'", "measures this schedule only"},
                 {"loopsmith tune gemm.tir --sizes n=128,256,512 --insert", "a program and a schedule for each value of `n`"},
                 {"loopsmith tune matmul.tir --explain-space", "the space, and the points that were tried"}},
    .least = 1,
    .most = 10000,
};

/// The candidates of an effort word.
auto trials_of_effort(std::string_view word) -> std::optional<int> {
  constexpr std::pair<std::string_view, int> efforts[] = {{"quick", 32}, {"normal", 256}, {"full", 1024}};
  for (auto [name, trials] : efforts) { if (name == word) { return trials; } }
  return {};
}
auto is_space_name(const std::string& space) -> bool { return space == "own" || space == "ansor" || is_metaschedule(space); }

/// The options of the search; else the exit status of a mistake in them.
auto read_options(const Arguments& arguments) -> std::variant<tune::SessionOptions, int> {
  tune::SessionOptions options;
  options.seconds = 60;
  if (auto text = arguments.get("--trials")) {
    auto n = parse_number(*text, 1, 10'000'000);
    if (!n) { return usage_error("tune", "`--trials` takes a number from 1 on, not `" + *text + "`"); }
    options.trials = static_cast<int>(*n);
    options.seconds = 0;
  }
  if (auto text = arguments.get("--time")) {
    auto s = parse_seconds(*text);
    if (!s) { return usage_error("tune", "`--time` takes a time such as 30, 90s or 2min, not `" + *text + "`"); }
    options.seconds = *s;
  }
  if (auto text = arguments.get("--seed")) {
    auto n = parse_number(*text, 0, 2'000'000'000);
    if (!n) { return usage_error("tune", "`--seed` takes a number, not `" + *text + "`"); }
    options.seed = static_cast<uint64_t>(*n);
  }
  if (auto text = arguments.get("--workers")) {
    auto n = parse_number(*text, 1, 64);
    if (!n) { return usage_error("tune", "`--workers` takes a number from 1 to 64, not `" + *text + "`"); }
    options.workers = static_cast<int>(*n);
  }
  if (auto text = arguments.get("--batch")) {
    auto n = parse_number(*text, 1, 4096);
    if (!n) { return usage_error("tune", "`--batch` takes a number from 1 to 4096, not `" + *text + "`"); }
    options.batch = static_cast<size_t>(*n);
  }
  for (const auto& [option, limit] : {std::pair{"--build-limit", &options.build_limit}, {"--measure-limit", &options.measure_limit}}) {
    auto text = arguments.get(option);
    if (!text) { continue; }
    auto s = parse_seconds(*text);
    if (!s) { return usage_error("tune", fmt::format("`{}` takes a time such as 5, 90s or 2min, not `{}`", option, *text)); }
    *limit = *s;
  }
  if (auto word = arguments.get("--effort")) {
    if (arguments.has("--trials") || arguments.has("--time")) { return usage_error("tune", "`--effort` is in place of `--trials` and `--time`"); }
    auto trials = trials_of_effort(*word);
    if (!trials) { return usage_error("tune", "`--effort` is quick, normal or full, not `" + *word + "`"); }
    options.trials = *trials;
    options.seconds = 0;
  }
  for (const char* option : {"--strategy", "--search"}) {
    auto name = arguments.get(option);
    if (!name) { continue; }
    const tune::ChosenSearch chosen = tune::read_search(*name);
    if (chosen.kind == nullptr && tune::find_search(name->substr(0, name->find('('))) == nullptr) { return usage_error("tune", fmt::format("`{}` is {}, not `{}`", option, tune::search_names(), *name)); }
    if (chosen.kind == nullptr) { return usage_error("tune", fmt::format("`{}`: {}", option, chosen.problem)); }
    options.search = *name;
  }
  options.keep_order = arguments.has("--keep-order");
  options.transfer = arguments.has("--transfer");
  if (auto text = arguments.get("--space"); text && !is_space_name(*text)) { return usage_error("tune", "`--space` is own, metaschedule, ansor or the call of a space such as `ScheduleFn(tiles)`, not `" + *text + "`"); }
  if (arguments.get("--space", "") == "own" && names_pieces(arguments)) { return usage_error("tune", "`--rules`, `--postprocs` and `--mutators` make the space metaschedule"); }
  if (arguments.has("--insert") && arguments.positional()[0] == "-") { return usage_error("tune", "`--insert` needs a file to write to, not standard input"); }
  options.database = arguments.get("--db", "");
  options.verify = !arguments.has("--no-verify");
  options.worker = {current_program(), "worker", "--measure"};
  return options;
}

/// Prints the space in place of a search (`--explain-space`). Returns the exit status.
auto explain(const Arguments& arguments, const Selection& selection, const tune::SessionOptions& options, Reporter& reporter) -> int {
  auto explained = tune::explain_space(searched_program(selection), selection.function, selection.target, options);
  if (!explained.ok()) {
    if (arguments.json()) { return report_failure(arguments, explained.diagnostics().front().message()); }
    reporter.report(explained.diagnostics(), selection.file.get());
    return reporter.status();
  }
  if (!arguments.json()) {
    fmt::print("{}", tune::text_of(*explained, selection.program.str()));
    return exit_done;
  }
  nlohmann::json sketches = nlohmann::json::array();
  for (const tune::SketchExplained& sketch : explained->sketches) {
    nlohmann::json knobs = nlohmann::json::array();
    for (const tune::KnobExplained& knob : sketch.knobs) { knobs.push_back({{"name", knob.name}, {"choices", knob.choices}, {"first", knob.first}, {"last", knob.last}}); }
    sketches.push_back({{"name", sketch.name}, {"points", sketch.points}, {"accepted", sketch.accepted}, {"knobs", std::move(knobs)}, {"tried", sketch.tally.proposed},
                        {"measured", sketch.tally.measured}, {"failed", sketch.tally.failed}, {"best_seconds", sketch.tally.best_seconds}, {"closed", sketch.why_closed}});
  }
  nlohmann::json units = nlohmann::json::array();
  for (const tune::UnitFit& unit : explained->units) { units.push_back({{"unit", unit.unit}, {"block", unit.block}, {"why_not", unit.why_not}}); }
  fmt::print("{}\n", nlohmann::json({{"event", "space"}, {"program", selection.program.str()}, {"records", explained->records}, {"sketches", std::move(sketches)}, {"units", std::move(units)}}).dump());
  return exit_done;
}

/// Takes the search that the file asks for, if the command line asks for none.
void take_search_of_file(const Arguments& arguments, const Selection& selection, tune::SessionOptions& options) {
  const auto asked = script::autotvm::asked_search(selection.file->document().file());
  if (!asked.search.empty() && !arguments.has("--search") && !arguments.has("--strategy")) { options.search = asked.search; }
  const bool is_bounded = arguments.has("--effort") || arguments.has("--trials") || arguments.has("--time");
  if (!asked.trials || *asked.trials < 1 || is_bounded) { return; }
  options.trials = static_cast<int>(std::min<int64_t>(*asked.trials, 10'000'000));
  options.seconds = 0;
}

/// Candidates of the command line in place of a search.
void take_candidates(const Arguments& arguments, const Selection& selection, tune::SessionOptions& options) {
  auto given = std::make_shared<const std::vector<Result<schedule::Trace>>>(read_candidates(arguments, selection));
  options.space = [given](const tune::SpaceContext&) -> Result<tune::Sketches> { return tune::space_of_traces(*given); };
  options.search = "grid";
  options.trials = static_cast<int>(given->size());
  if (!arguments.has("--time")) { options.seconds = 0; }
}

/// The path of a log that a file names: below the folder of the file.
auto log_beside(const std::string& file, const std::string& log) -> std::string {
  if (log.empty()) { return log; }
  const std::string& path = file == "-" ? workspace::import_options().input_name : file;
  return (std::filesystem::path(path).parent_path() / log).string();
}

/// Appends the trials of a search to a log. Returns the exit status of a failure.
auto write_log(const Arguments& arguments, const std::string& path, const tune::SessionOptions& options, const tune::SessionResult& result, const std::function<bool(const std::string&)>& is_wanted,
               Reporter& reporter) -> std::optional<int> {
  // The trials come from the database.
  if (options.database == ":memory:") {
    if (!arguments.json()) { fmt::print(stderr, "note: no records are appended to {}: `--db :memory:` keeps no trials\n", path); }
    return {};
  }
  auto written = append_trials(path, options, result.tasks, is_wanted);
  if (!written.ok()) {
    reporter.report(written.diagnostics(), nullptr);
    return reporter.status();
  }
  if (!arguments.json()) { fmt::print(stderr, "{} appended to {}\n", count_text(static_cast<int64_t>(*written), "record"), path); }
  return {};
}

/// Writes the program of the best configuration and its steps behind the template, as a program and a schedule of blocks.
auto insert_template(const Arguments& arguments, const Selection& selection, const TemplateSearch& search, const tune::SessionResult& result, uint64_t seed, Reporter& reporter) -> int {
  auto ran = search.run(result.log_line);
  if (!ran.ok()) {
    reporter.report(ran.diagnostics(), selection.file.get());
    return reporter.status();
  }
  const std::string& text = selection.file->snapshot()->text();
  workspace::ScheduleText form = found_form(selection, ran->program, result, arguments, seed);
  form.program = workspace::free_name(text, selection.schedule + "_program");
  form.comments.insert(form.comments.begin() + 1, "Configuration: " + TemplateSearch::configuration(result.log_line) + ".");
  auto both = workspace::program_and_schedule(*selection.file->snapshot(), ran->program, result.trace, form);
  if (!both.ok()) { return report_failure(arguments, both.diagnostics().front().message()); }
  return insert_found(arguments, arguments.positional()[0], selection, form.name, *both, reporter);
}

/// The knobs of an AutoTVM template.
auto tune_template(const Arguments& arguments, tune::SessionOptions options, const Selection& selection, Reporter& reporter) -> int {
  if (arguments.has("--space")) { return usage_error("tune", "`--space` and templates exclude each other: `" + selection.schedule + "` is the space"); }
  TemplateSearch search(selection);
  options.space = [&](const tune::SpaceContext& context) { return search.space(context); };
  take_search_of_file(arguments, selection, options);
  auto left_out = [&] { return fmt::format("configurations such as {} are left out: their choices change the tensors of `{}`, so no time is comparable", search.left_out(), selection.schedule); };
  if (arguments.has("--explain-space")) {
    const int status = explain(arguments, selection, options, reporter);
    if (!search.left_out().empty() && !arguments.json()) { fmt::print(stderr, "note: {}\n", left_out()); }
    return status;
  }
  listen_to_signals(options);
  ProgressLine line(arguments.json(), floor_seconds(selection));
  options.on_progress = [&](const tune::Progress& p) { line.show(p); };
  auto result = tune::tune(selection.before, selection.function, selection.target, selection.program.str(), options);
  if (!result.ok()) {
    if (arguments.json()) { return report_failure(arguments, result.diagnostics().front().message()); }
    reporter.report(result.diagnostics(), selection.file.get());
    return reporter.status();
  }
  if (!search.left_out().empty()) { result->notes.push_back(left_out()); }
  if (result->abandoned) { return report_failure(arguments, "the best was not compared with the program, so it is not offered; the measurements are kept"); }
  const std::vector<Cause> causes = with_reproducers(arguments, options, selection.program.str(), result->causes);
  if (!arguments.json()) { report_causes(arguments.positional()[0], selection.program.str(), causes); }
  const std::string asked_log = log_beside(arguments.positional()[0], script::autotvm::asked_search(selection.file->document().file()).log);
  if (std::string path = arguments.get("--log", asked_log); !path.empty()) {
    auto is_wanted = [&](const std::string& line) { return search.is_of_task(line); };
    if (auto status = write_log(arguments, path, options, *result, is_wanted, reporter)) { return *status; }
  }
  if (!result->found && result->is_unscheduled_best && !arguments.json()) {
    fmt::print(stderr, "loopsmith tune: {}\n", tune::why_nothing(*result));
    return exit_done;
  }
  if (!result->found) { return report_failure(arguments, tune::why_nothing(*result)); }
  const std::string record = script::with_result(result->log_line, result->best_seconds, script::LineError::None);
  if (arguments.json()) {
    report_done_as_json(selection, *result, selection.schedule, record, causes_as_json(arguments.positional()[0], selection.program.str(), causes));
    return arguments.has("--insert") ? insert_template(arguments, selection, search, *result, options.seed, reporter) : static_cast<int>(exit_done);
  }
  report_done(*result);
  fmt::print(stderr, "configuration: {}\n", TemplateSearch::configuration(record));
  if (arguments.has("--insert")) { return insert_template(arguments, selection, search, *result, options.seed, reporter); }
  fmt::print("{}\n", record);
  return exit_done;
}

/// The records of a task in the logs that a file preloads.
auto read_preloaded(const Arguments& arguments, const std::string& path, const std::vector<std::string>& logs, const script::auto_scheduler::Task& task) -> std::vector<script::auto_scheduler::AnsorRecord> {
  std::vector<script::auto_scheduler::AnsorRecord> out;
  for (const std::string& log : logs) {
    const std::string found = log_beside(path, log);
    const auto text = read_file(found);
    const auto records = text.ok() ? script::auto_scheduler::read_ansor_log(found, *text) : Result<std::vector<script::auto_scheduler::AnsorRecord>>(text.diagnostics());
    if (!records.ok()) {
      if (!arguments.json()) { fmt::print(stderr, "note: no states are preloaded: {}\n", records.diagnostics().front().message()); }
      continue;
    }
    const size_t before = out.size();
    std::copy_if(records->begin(), records->end(), std::back_inserter(out), [&](const auto& one) { return script::auto_scheduler::is_of_task(one, task); });
    if (!arguments.json()) { fmt::print(stderr, "{} of {} preloaded\n", count_text(static_cast<int64_t>(out.size() - before), "state"), found); }
  }
  return out;
}

/// The search in the sketches of the auto-scheduler, and the log for its trials; empty: the search has another space.
struct TaskSearch {
  std::unique_ptr<AnsorSearch> search;
  std::string log;
};
/// Where `--space ansor` asks for the sketches of the auto-scheduler, or the file calls `task.tune`, takes the search and the number of trials from the file. Returns the
/// exit status of a mistake.
auto search_task(const Arguments& arguments, const Selection& selection, tune::SessionOptions& options, TaskSearch& out) -> std::optional<int> {
  auto task = selection.schedule.empty() ? task_of(selection) : std::nullopt;
  const auto asked = task ? script::auto_scheduler::asked_tuning(selection.file->document().file(), *task) : script::auto_scheduler::AskedTuning{};
  const bool is_default = asked.is_asked && !arguments.has("--space") && !names_pieces(arguments);
  const bool is_wanted = arguments.get("--space", "") == "ansor" || is_default;
  if (!is_wanted && arguments.has("--log")) { return usage_error("tune", "`--log` is for AutoTVM templates, and for tasks of the auto-scheduler with `--space ansor`"); }
  if (!is_wanted) { return {}; }
  if (!task) {
    return report_failure(arguments, fmt::format("`--space ansor` needs a task of the auto-scheduler, and `{}` is not one: write `task = auto_scheduler.SearchTask(func=..., args=..., target=...)`", selection.program.view()));
  }
  const std::string& path = arguments.positional()[0];
  out.search = std::make_unique<AnsorSearch>(selection, *task, read_preloaded(arguments, path, asked.preloaded, *task));
  if (!out.search->preloaded().empty()) { options.known_points = [search = out.search.get()] { return search->known_points(); }; }
  out.log = arguments.get("--log", log_beside(arguments.positional()[0], asked.log));
  options.space = [search = out.search.get()](const tune::SpaceContext& context) { return search->space(context); };
  const bool is_bounded = arguments.has("--effort") || arguments.has("--trials") || arguments.has("--time");
  if (asked.trials && *asked.trials > 0 && !is_bounded) {
    options.trials = static_cast<int>(std::min<int64_t>(*asked.trials, 10'000'000));
    options.seconds = 0;
  }
  return {};
}

/// Refuses options that exclude each other. Returns the exit status of a mistake.
auto check_together(const Arguments& arguments, bool is_several, bool has_sizes) -> std::optional<int> {
  if (!is_several && !has_sizes && (arguments.has("--weights") || arguments.has("--scheduler"))) { return usage_error("tune", "`--weights` and `--scheduler` are for several programs: name several files, or add `--all`"); }
  if (arguments.has("--arguments") && (is_several || has_sizes)) { return usage_error("tune", "`--arguments` is for one program"); }
  if (arguments.has("--share") && !has_sizes) { return usage_error("tune", "`--share` needs `--sizes`"); }
  if (auto percent = arguments.get("--share"); percent && !parse_number(*percent, 0, 1000)) { return usage_error("tune", "`--share` takes a number of percent from 0 to 1000, not `" + *percent + "`"); }
  if (arguments.has("--weights") && has_sizes) { return usage_error("tune", "`--weights` and `--sizes` exclude each other"); }
  if (arguments.has("--candidate") && (is_several || has_sizes || arguments.has("--with") || arguments.has("--space") || names_pieces(arguments))) {
    return usage_error("tune", "`--candidate` is for one program, and is its own space");
  }
  if (has_sizes && (is_several || arguments.has("--with") || arguments.has("--explain-space"))) {
    return usage_error("tune", "`--sizes` is for one program, without `--all`, `--with` and `--explain-space`");
  }
  return {};
}

/// Refuses a schedule that is not a space, and options that do not apply to it. Returns the exit status of a mistake.
auto check_space(const Arguments& arguments, const Selection& selection) -> std::optional<int> {
  if (!(selection.trace && tune::has_samples(*selection.trace))) {
    return report_failure(arguments, fmt::format("`{}` has no `sch.tune()` to fill, and samples nothing: write `sch.tune()` as a statement of its own where the search is to go on, or choose numbers by `sch.sample_perfect_tile` and its like",
                                       selection.schedule));
  }
  if (names_pieces(arguments)) { return usage_error("tune", "`--with` names the space, so `--rules`, `--postprocs` and `--mutators` do not apply"); }
  if (arguments.has("--space")) { return usage_error("tune", "`--space` and `--with` exclude each other: `" + selection.schedule + "` is the space"); }
  return {};
}

/// Prints the schedule that a search found, or inserts it into the file. Returns the exit status.
auto offer(const Arguments& arguments, const Selection& selection, uint64_t seed, const tune::SessionResult& result, const std::vector<Cause>& causes, Reporter& reporter) -> int {
  const std::string& path = arguments.positional()[0];
  if (!result.found) { return report_failure(arguments, tune::why_nothing(result), causes_as_json(path, selection.program.str(), causes)); }
  auto [name, text] = found_text(selection, result, arguments, seed);
  if (!text.ok()) { return report_failure(arguments, text.diagnostics().front().message()); }
  if (arguments.json()) {
    report_done_as_json(selection, result, name, *text, causes_as_json(path, selection.program.str(), causes));
  } else {
    report_done(result);
    if (!arguments.has("--insert")) { fmt::print("{}{}", *text, selection.hole ? "\n" : ""); }
  }
  return arguments.has("--insert") ? insert_found(arguments, path, selection, name, *text, reporter) : static_cast<int>(exit_done);
}

}  // namespace

auto tune(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  auto asked = read_options(arguments);
  if (const int* status = std::get_if<int>(&asked)) { return *status; }
  auto& options = std::get<tune::SessionOptions>(asked);

  Reporter reporter(arguments);
  const bool has_sizes = !given_sizes(arguments).empty();
  const bool is_several = arguments.positional().size() > 1 || arguments.has("--all");
  if (auto status = check_together(arguments, is_several, has_sizes)) { return *status; }
  if ((is_several || has_sizes) && !arguments.has("--explain-space")) { return tune_all(arguments, std::move(options), reporter); }
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true, .needs_function = true, .until_hole = true, .takes_log = false, .only_template = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  const bool is_space = !selection.schedule.empty() && !selection.hole;
  if (is_space && selection.space) { return tune_template(arguments, std::move(options), selection, reporter); }
  if (auto status = is_space ? check_space(arguments, selection) : std::nullopt) { return *status; }
  if (auto status = take_model(arguments, selection, reporter, options)) { return *status; }
  if (auto status = take_runner(arguments, selection, reporter, options)) { return *status; }
  if (auto status = take_arguments(arguments, selection, reporter, options)) { return *status; }
  if (auto status = restore_model(arguments, options)) { return *status; }
  bool is_bounded = arguments.has("--effort") || arguments.has("--trials") || arguments.has("--time");
  if (selection.hole && !is_bounded && (selection.hole->seconds > 0 || selection.hole->trials > 0)) {
    options.seconds = selection.hole->seconds;
    options.trials = static_cast<int>(std::min<int64_t>(selection.hole->trials, 10'000'000));
  }
  if (uses_metaschedule(arguments, selection.target)) {
    auto pieces = read_tuner_pieces(arguments, selection, reporter);
    if (const int* status = std::get_if<int>(&pieces)) { return *status; }
    options.space = space_of_pieces(std::get<0>(std::move(pieces)), selection.target, options.seed);
  }
  TaskSearch of_task;
  if (auto status = search_task(arguments, selection, options, of_task)) { return *status; }
  if (is_space) { options.space = [&](const tune::SpaceContext& context) { return tune::sampled_space(context, selection.schedule, *selection.trace); }; }
  if (arguments.has("--candidate")) { take_candidates(arguments, selection, options); }
  if (arguments.has("--explain-space")) { return explain(arguments, selection, options, reporter); }
  if (!arguments.json()) { note_measured_sizes(selection); }
  listen_to_signals(options);
  ProgressLine line(arguments.json(), floor_seconds(selection));
  options.on_progress = [&](const tune::Progress& p) { line.show(p); };

  auto result = tune::tune(searched_program(selection), selection.function, selection.target, selection.program.str(), options);
  if (auto status = keep_model(arguments, options)) { return *status; }
  if (!result.ok()) {
    if (arguments.json()) { return report_failure(arguments, result.diagnostics().front().message()); }
    reporter.report(result.diagnostics(), selection.file.get());
    return reporter.status();
  }
  if (arguments.has("--candidate")) {
    if (!arguments.json()) { fmt::print(stderr, "{}", candidates_as_text(result->progress)); }
    else { fmt::print("{}\n", nlohmann::json({{"event", "candidates"}, {"candidates", candidates_as_json(result->progress)}}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)); }
  }
  if (result->abandoned) { return report_failure(arguments, "the best was not compared with the program, so it is not offered; the measurements are kept"); }
  const std::string& path = arguments.positional()[0];
  // The result of each candidate has its reason already.
  if (arguments.has("--candidate")) { result->causes.clear(); }
  const std::vector<Cause> causes = with_reproducers(arguments, options, selection.program.str(), result->causes);
  if (!arguments.json()) { report_causes(path, selection.program.str(), causes); }
  if (of_task.search && !of_task.log.empty()) {
    auto is_wanted = [&](const std::string& line) { return of_task.search->is_of_task(line); };
    if (auto status = write_log(arguments, of_task.log, options, *result, is_wanted, reporter)) { return *status; }
  }
  return offer(arguments, selection, options.seed, *result, causes, reporter);
}

}  // namespace loopsmith::driver::commands
