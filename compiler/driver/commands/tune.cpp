// `loopsmith tune FILE`: searches for a fast schedule, with live progress; `--insert` writes the best one into the file. Editors start it with `--json`
// in the background.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/commands/ansor_search.h"
#include "driver/commands/candidates.h"
#include "driver/commands/template_search.h"
#include "driver/commands/tune_shared.h"
#include "driver/commands/tune_sizes.h"
#include "driver/commands/tuner_log.h"
#include "driver/execution.h"
#include "driver/program.h"
#include "driver/tuner_pieces.h"
#include "ir/equal.h"
#include "ir/vocabulary.h"
#include "script/autotvm/space.h"
#include "script/autotvm/templates.h"
#include "support/process.h"
#include "target/gpu.h"
#include "support/text.h"
#include "target/peaks.h"
#include "tune/session/explain_space.h"
#include "tune/session/several.h"
#include "tune/space/given_traces.h"
#include "tune/space/trace_spaces.h"
#include "workspace/edits/certificate.h"
#include "workspace/edits/holes.h"
#include "workspace/edits/placing.h"
#include "workspace/edits/schedule_text.h"
#include "workspace/imports.h"
#include "workspace/selection.h"

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
                {.name = "--time", .value = "S", .help = "the time for all of it: 30, 90s, 2min; a part is kept for comparing the best with the program. Without --trials the default is 60 s"},
                {.name = "--db", .value = "F", .help = "the database of all measurements; the default is below XDG_DATA_HOME"},
                {.name = "--seed", .value = "N", .help = "the seed of the search; the default is 0"},
                {.name = "--effort", .value = "E", .help = "quick: 32 candidates; normal: 256; full: 1024, in place of --trials"},
                {.name = "--search", .value = "NAME", .help = "the search, as listed above; the default is guided. Parameters stand in parentheses: `evolutionary(population_size=128)`"},
                {.name = "--strategy", .value = "NAME", .help = "the same as --search"},
                {.name = "--space", .value = "S", .help = "the candidates: `own` (the default on processors); `metaschedule`, the traces of TVM's rules (the default on devices); `ansor`, the sketches of the auto-scheduler for a task (the default where the file calls `task.tune`); or a call such as `ScheduleFn(tiles)`"},
                {.name = "--model", .value = "M", .help = "the model that corrects the draft, as listed above (the default is residual); or a model of whole candidates: a class of the file, `Mine` or `Mine(64)`, or the file of a trained model"},
                {.name = "--runner", .value = "R", .help = "a class of the file that gives candidates their times, `Mine` or `Mine(8)`, in place of measurements; `local`, the default, measures them here"},
                {.name = "--builder", .value = "B", .help = "with --runner: a class of the file that makes the artefacts for the runner"},
                {.name = "--batch", .value = "N", .help = "candidates that are measured between two proposals of the search; the default depends on the search"},
                rules_option, postprocs_option, mutators_option, pieces_option,
                {.name = "--transfer", .help = "also tries the fastest recorded schedules of other programs with the same target, such as other sizes, where they apply"},
                {.name = "--keep-order", .help = "takes only schedules that add real numbers in the order of the program"},
                {.name = "--explain-space", .help = "prints the sketches with their knobs, the numbers of their tried points, and the reasons why units do not fit; measures nothing"},
                {.name = "--causes", .value = "DIR", .help = "the folder for traces that reproduce failed candidates; the default is beside the database"},
                {.name = "--log", .value = "F", .help = "appends the trials of an AutoTVM template, or of a task of the auto-scheduler, to this log in TVM's form"},
                {.name = "--weights", .value = "LIST", .help = "with several programs: the weight of each, in their order, as `2,1`; the default is 1 for each"},
                {.name = "--scheduler", .value = "S", .help = "with several programs: gain, the default, gives trials to the program with the largest expected gain; `gradient` and `gradient(alpha=0.2, window_size=3)` divide them as TVM does; `round-robin` in turns"},
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

/// The number of times that Ctrl-C was pressed: the first ends the search, the second also the comparison of its best candidate.
std::atomic<int> stops_asked{0};
void on_stop(int) { ++stops_asked; }

/// SIGUSR1 pauses the search, SIGUSR2 continues it.
std::atomic<bool> is_paused{false};
void on_pause(int signal) { is_paused = signal == SIGUSR1; }

/// A dash for an unknown time.
auto known_time(double seconds) -> std::string { return seconds > 0 ? duration_text(seconds) : "-"; }

/// The sketches with their knobs and trials.
auto arms_of(const tune::Progress& p) -> nlohmann::json {
  nlohmann::json out = nlohmann::json::array();
  for (const tune::SketchTally& sketch : p.sketches) {
    nlohmann::json knobs = nlohmann::json::array();
    for (const auto& [name, choices] : sketch.knobs) { knobs.push_back({{"name", name}, {"choices", choices}}); }
    nlohmann::json arm = {{"name", sketch.name}, {"proposed", sketch.proposed}, {"measured", sketch.measured}, {"failed", sketch.failed}, {"knobs", std::move(knobs)}};
    if (sketch.best_seconds > 0) { arm["best_seconds"] = sketch.best_seconds; }
    if (!sketch.closed.empty()) { arm["closed"] = sketch.closed; }
    out.push_back(std::move(arm));
  }
  return out;
}

/// The progress of a search: with `--json` lines of JSON, on a terminal one line that is rewritten in place, elsewhere a line every few seconds.
class ProgressLine {
 public:
  /// `floor`: a lower bound for the seconds of a call on this machine; 0: unknown.
  ProgressLine(bool json, double floor) : json_(json), terminal_(!json && ::isatty(STDERR_FILENO)), floor_(floor) {}
  void show(const tune::Progress& p) {
    double gap = json_ || terminal_ ? 0.1 : 5;
    if (p.phase != "done" && p.phase == phase_ && p.elapsed_seconds - shown_ < gap) { return; }
    shown_ = p.elapsed_seconds;
    phase_ = p.phase;
    json_ ? show_json(p) : show_text(p);
  }

 private:
  void show_json(const tune::Progress& p) {
    nlohmann::json line = {{"event", "progress"}, {"trial", p.trials}, {"elapsed", p.elapsed_seconds}, {"phase", p.phase}};
    if (p.trials_total > 0) { line["trials"] = p.trials_total; }
    if (p.limit_seconds > 0) { line["limit"] = p.limit_seconds; }
    if (p.search_limit_seconds > 0) { line["search_limit"] = p.search_limit_seconds; }
    if (p.best_seconds > 0) { line["best_seconds"] = p.best_seconds; }
    if (p.plain_seconds > 0) { line["plain_seconds"] = p.plain_seconds; }
    if (p.flops > 0) { line["flops"] = p.flops; }
    if (floor_ > 0) { line["floor_seconds"] = floor_; }
    // New since the last line: the trials, and the best schedule.
    line["measured"] = std::vector<double>(p.trial_seconds.begin() + static_cast<ptrdiff_t>(reported_), p.trial_seconds.end());
    reported_ = p.trial_seconds.size();
    if (p.best_python != best_) { line["best_schedule"] = best_ = p.best_python; }
    if (p.is_stopped) { line["stopped"] = true; }
    // As a whole, where something has changed.
    nlohmann::json arms = arms_of(p);
    if (arms != arms_) { line["arms"] = arms_ = std::move(arms); }
    if (p.failures != failures_) { line["failures"] = failures_ = p.failures; }
    fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(stdout);
  }
  void show_text(const tune::Progress& p) const {
    std::string rate = p.best_seconds > 0 && p.flops > 0 ? fmt::format(", {:.1f} GFLOP/s", p.flops / p.best_seconds * 1e-9) : std::string();
    std::string text = fmt::format("{:<10} {} trials, best {}{}, {}", p.phase, p.trials, known_time(p.best_seconds), rate, time_text(p));
    if (p.is_stopped && p.phase == "verifying") {
      text = fmt::format("stopped; comparing the best of {} trials, {}, with the program (Ctrl-C gives it up)", p.trials, known_time(p.best_seconds));
    }
    if (!terminal_) {
      fmt::print(stderr, "tune: {}\n", text);
      return;
    }
    fmt::print(stderr, "\r\x1b[K{}{}", in_a_row(bar(p), text), p.phase == "done" ? "\n" : "");
    std::fflush(stderr);
  }
  /// The bar and the text in one row of the terminal, as a line that wraps cannot be written over: without the bar, and at last without the end of the text.
  static auto in_a_row(const std::string& bar, const std::string& text) -> std::string {
    winsize size{};
    const size_t columns = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    if (bar_width + 1 + text.size() < columns) { return bar + " " + text; }
    return text.size() < columns ? text : text.substr(0, columns - 1);
  }
  /// "7 s of 20 s, search 16 s": the whole budget, and the part of it for the search; and the time of a comparison beyond it.
  static auto time_text(const tune::Progress& p) -> std::string {
    std::string out = fmt::format("{:.0f} s", p.elapsed_seconds);
    if (p.limit_seconds <= 0 || p.phase == "done") { return out; }
    if (p.elapsed_seconds > p.limit_seconds) {
      return out + fmt::format(": {:.0f} s more than asked for, as the comparison with the program takes longer", p.elapsed_seconds - p.limit_seconds);
    }
    bool is_search = p.phase != "confirming" && p.phase != "verifying";
    out += fmt::format(" of {:.0f} s", p.limit_seconds);
    return is_search && p.search_limit_seconds > 0 && p.search_limit_seconds < p.limit_seconds ? out + fmt::format(", search {:.0f} s", p.search_limit_seconds) : out;
  }
  static auto bar(const tune::Progress& p) -> std::string {
    double done = 0;
    if (p.trials_total > 0) { done = std::max(done, static_cast<double>(p.trials) / p.trials_total); }
    if (p.limit_seconds > 0) { done = std::max(done, p.elapsed_seconds / p.limit_seconds); }
    done = p.phase == "done" ? 1 : std::min(done, 1.0);
    auto filled = static_cast<size_t>(done * bar_width);
    std::string out;
    for (size_t i = 0; i < bar_width; ++i) { out += i < filled ? "█" : "░"; }
    return out;
  }

  static constexpr size_t bar_width = 24;

  bool json_;
  bool terminal_;
  double floor_;
  size_t reported_ = 0;   // trials in the lines so far
  nlohmann::json arms_;   // of the last line that had them
  std::map<std::string, int> failures_;
  std::string best_;
  double shown_ = -1e9;
  std::string phase_;
};

/// `tune::least_seconds` with the peaks measured earlier; 0: no peaks were measured.
auto floor_seconds(const Selection& selection) -> double {
  // The peaks are those of the processor.
  if (target::is_device_target(selection.target)) { return 0; }
  auto peaks = target::cached_peaks();
  return peaks ? tune::least_seconds(selection.before, selection.function, *peaks) : 0;
}

/// Reports a failure in the requested form; `causes`: those of failed candidates, for JSON.
auto fail(const Arguments& arguments, const std::string& why, nlohmann::json causes = {}) -> int {
  nlohmann::json event = {{"event", "error"}, {"message", why}};
  if (!causes.empty()) { event["causes"] = std::move(causes); }
  if (arguments.json()) { fmt::print("{}\n", event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)); }
  else { fmt::print(stderr, "loopsmith tune: {}\n", why); }
  return exit_input;
}

/// The candidates of an effort word.
auto trials_of_effort(std::string_view word) -> std::optional<int> {
  constexpr std::pair<std::string_view, int> efforts[] = {{"quick", 32}, {"normal", 256}, {"full", 1024}};
  for (auto [name, trials] : efforts) { if (name == word) { return trials; } }
  return {};
}
/// `post-order-apply` is TVM's name of the same space.
auto is_metaschedule(const std::string& space) -> bool { return space == "metaschedule" || space == "post-order-apply" || is_space_expression(space); }
auto uses_metaschedule(const Arguments& arguments, const target::Target& target) -> bool {
  return names_pieces(arguments) || is_metaschedule(arguments.get("--space", is_gpu_target(target.kind) ? "metaschedule" : "own"));
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
  options.paused = [] { return is_paused.load(); };
  options.stop = [] { return stops_asked.load() > 0; };
  options.abandon = [] { return stops_asked.load() > 1; };
  return options;
}

void listen_to_signals() {
  struct sigaction action {};
  action.sa_handler = on_stop;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = on_pause;
  ::sigaction(SIGUSR1, &action, nullptr);
  ::sigaction(SIGUSR2, &action, nullptr);
}

/// The program that the search begins with: in front of the hole, else as written.
auto searched_program(const Selection& selection) -> const IRModule& { return selection.hole ? selection.module : selection.before; }

/// A found schedule as text: a function with an unused name, or the statements that fill the hole.
struct FoundText {
  std::string name;
  Result<std::string> text;
};
auto found_text(const Selection& selection, const tune::SessionResult& result, const Arguments& arguments, uint64_t seed) -> FoundText {
  // A schedule for a device names it, wherever the target came from.
  const std::string target = arguments.get("--target", target::is_device_target(selection.target) ? selection.target.str() : "llvm");
  const IRModule& searched = searched_program(selection);
  workspace::ScheduleText form;
  form.program = selection.program.str();
  form.name = workspace::free_name(selection.file->snapshot()->text(), form.program + "_tuned");
  form.target = target;
  double speedup = result.plain_seconds > 0 ? result.plain_seconds / result.best_seconds : 0;
  const std::string where = result.is_ranked ? " (estimated: no device measured it)" : result.device.empty() ? "" : " on " + result.device;
  form.comments.push_back(fmt::format("{}{}{}{}{}, {} trials, seed {}.", result.is_ranked ? "Ranked: " : workspace::tuned_comment, duration_text(result.best_seconds), where,
                                      result.flops > 0 ? fmt::format(", {:.1f} GFLOP/s", result.flops / result.best_seconds * 1e-9) : "",
                                      speedup > 0 ? fmt::format(", {:.{}f} times as fast as unscheduled", speedup, speedup < 1.1 ? 2 : 1) : "", result.progress.trials, seed));
  form.comments.push_back(result.verified.empty() ? "Not verified." : "Verified: " + result.verified + ".");
  // Hashes are of a whole schedule. The steps that fill a hole are a part of one, and other steps may follow.
  if (!result.figures.empty()) { form.comments.push_back("Compiled: " + result.figures + "."); }
  form.comments.push_back(workspace::certificate_text(selection.hole ? std::nullopt : workspace::certificate_of(searched, selection.function, result.trace),
                                                      {selection.target.str(), result.best_seconds, result.spread_seconds, result.timings, std::time(nullptr)}));
  if (!selection.hole) {
    auto function = workspace::schedule_function_text(searched, result.trace, form);
    if (function.ok()) { function = workspace::in_form_of(*selection.file->snapshot(), *function).text; }
    return {form.name, std::move(function)};
  }
  form.schedule = selection.hole->variable;
  form.taken = workspace::names_in(selection.hole->function);
  return {selection.schedule, workspace::schedule_statements_text(searched, result.trace, form)};
}

/// A cause of failed candidates with its reproducer.
struct Cause { tune::FailureCause cause; std::string path; };

/// Writes the traces that reproduce failures. Without a folder in the options they go beside the database; a database in memory has none.
auto with_reproducers(const Arguments& arguments, const tune::SessionOptions& options, const std::string& program, const std::vector<tune::FailureCause>& causes) -> std::vector<Cause> {
  std::vector<Cause> out;
  std::string folder = arguments.get("--causes", "");
  if (folder.empty() && options.database != ":memory:") { folder = (options.database.empty() ? tune::Database::default_path() : options.database) + ".causes"; }
  std::vector<std::string> paths(causes.size());
  if (!folder.empty() && !causes.empty()) { paths = tune::write_reproducers(causes, folder, program); }
  for (size_t i = 0; i < causes.size(); ++i) { out.push_back({causes[i], paths[i]}); }
  return out;
}

/// The command that shows one failed candidate; empty: its trace is in no file.
auto reproducing_command(const std::string& file, const std::string& program, const Cause& cause) -> std::string {
  // The text of an editor comes from standard input, under the name of its file.
  const std::string& name = file == "-" && !workspace::import_options().input_name.empty() ? workspace::import_options().input_name : file;
  return cause.path.empty() ? std::string() : fmt::format("loopsmith schedule {} --function {} --trace {}", name, program, cause.path);
}

auto causes_as_json(const std::string& file, const std::string& program, const std::vector<Cause>& causes) -> nlohmann::json {
  nlohmann::json out = nlohmann::json::array();
  for (const Cause& one : causes) {
    nlohmann::json json = {{"outcome", one.cause.outcome}, {"message", one.cause.note}, {"count", one.cause.count}, {"trace", one.cause.trace}, {"is_prefix", one.cause.is_prefix}};
    if (std::string command = reproducing_command(file, program, one); !command.empty()) { json["reproduce"] = std::move(command); }
    out.push_back(std::move(json));
  }
  return out;
}

/// A line for each cause, with the command that reproduces it below.
void report_causes(const std::string& file, const std::string& program, const std::vector<Cause>& causes) {
  for (const Cause& one : causes) {
    fmt::print(stderr, "{} x {}{}\n", one.cause.count, one.cause.outcome, one.cause.note.empty() ? "" : ": " + one.cause.note);
    std::string command = reproducing_command(file, program, one);
    if (command.empty()) { continue; }
    fmt::print(stderr, "    {}{}\n", command, one.cause.is_prefix ? "   (the program in front of the refused step)" : "");
  }
}

auto profile_as_json(const tune::Profile& profile) -> nlohmann::json {
  return {{"space", profile.space}, {"search", profile.search}, {"build", profile.build}, {"measure", profile.measure}, {"compare", profile.compare}};
}

void report_done_as_json(const Selection& selection, const tune::SessionResult& result, const std::string& name, const std::string& text, nlohmann::json causes) {
  nlohmann::json done = {{"event", "done"},
                         {"schedule_text", text},
                         {"name", name},
                         {"trace", result.trace},
                         {"best_seconds", result.best_seconds},
                         {"plain_seconds", result.plain_seconds},
                         {"spread_seconds", result.spread_seconds},
                         {"flops", result.flops},
                         {"trials", result.progress.trials},
                         {"elapsed", result.progress.elapsed_seconds},
                         {"stopped", result.stopped},
                         {"verified", result.verified},
                         {"device", result.device},
                         {"ranked", result.is_ranked},
                         {"figures", result.figures},
                         {"best_so_far", result.best_so_far},
                         {"profile", profile_as_json(result.progress.profile)},
                         {"causes", std::move(causes)}};
  // The place of the hole in the text that was read, and the program in front of it.
  if (selection.hole) { done["hole"] = {{"offset", selection.hole->span.begin}, {"end", selection.hole->span.end}, {"state", selection.hole->state}}; }
  // Notes of crashed workers may hold any bytes.
  fmt::print("{}\n", done.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  std::fflush(stdout);
}

void report_done(const tune::SessionResult& result) {
  std::string failures;
  for (const auto& [name, count] : result.progress.failures) { failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", count, name); }
  if (!result.device.empty()) { fmt::print(stderr, "measured on {}\n", result.device); }
  fmt::print(stderr, "best: {}, {} trials in {:.0f} s{}\n", tune::best_text(result), result.progress.trials, result.progress.elapsed_seconds,
             failures.empty() ? "" : "; left out: " + failures);
  if (!result.figures.empty()) { fmt::print(stderr, "compiled: {}\n", result.figures); }
  fmt::print(stderr, "time: {}\n", tune::profile_text(result.progress.profile));
  for (const std::string& note : result.notes) { fmt::print(stderr, "note: {}\n", note); }
  if (!result.verified.empty()) { fmt::print(stderr, "verified: {}\n", result.verified); }
}

/// True where the text still has the program that was searched, and in front of the hole the same steps.
auto is_same_program(const Arguments& arguments, const std::string& path, const std::string& text, const Selection& selection) -> bool {
  auto file = SourceFile::from_text(path, text);
  workspace::SelectionOutput unused;
  std::string function = arguments.get("--function", selection.schedule.empty() ? selection.program.str() : std::string());
  auto now = workspace::select(file->document(), {.function = function, .schedule = selection.schedule, .stops_at_hole = true}, unused);
  const auto* found = std::get_if<workspace::Selection>(&now);
  if (found == nullptr || !structural_equal(found->before, selection.before)) { return false; }
  return !selection.hole || (found->hole && found->hole->state == selection.hole->state);
}

/// Writes a found schedule into the file, as the file is now.
auto insert(const Arguments& arguments, const std::string& path, const Selection& selection, const std::string& name, const std::string& text, Reporter& reporter) -> int {
  auto report = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, selection.file.get());
    return reporter.status();
  };
  auto content = read_file(path);
  if (!content.ok()) { return report(content.diagnostics()); }
  if (!is_same_program(arguments, path, *content, selection)) {
    // The schedule was found for, and verified on, another program: it is not lost, but it does not go into the file.
    if (!arguments.json()) { fmt::print("{}", text); }
    return fail(arguments, fmt::format("`{}` in {} was changed meanwhile: the schedule belongs to the program as it was, so nothing was written to the file", selection.program.str(), path));
  }
  std::string now;
  std::string message;
  if (selection.hole) {
    auto edit = workspace::fill_hole(*content, *selection.hole, text);
    if (!edit) { return fail(arguments, fmt::format("{} was changed meanwhile; nothing was written to it", path)); }
    std::string statement = content->substr(edit->span.begin, edit->span.end - edit->span.begin);
    now = workspace::with_edits(*content, {*edit});
    message = fmt::format("`{}` of `{}` filled in {}", statement == "..." ? statement : selection.hole->variable + ".tune()", selection.schedule, path);
  } else {
    now = workspace::with_edits(*content, workspace::appended(*content, text, path.ends_with(".py")));
    message = fmt::format("schedule `{}` written to {}", name, path);
  }
  if (Status written = write_file(path, now); !written.ok()) { return report(written.diagnostics()); }
  if (!arguments.json()) { fmt::print(stderr, "{}\n", message); }
  return exit_done;
}

/// `--explain-space`.
auto explain(const Arguments& arguments, const Selection& selection, const tune::SessionOptions& options, Reporter& reporter) -> int {
  auto explained = tune::explain_space(searched_program(selection), selection.function, selection.target, options);
  if (!explained.ok()) {
    if (arguments.json()) { return fail(arguments, explained.diagnostics().front().message()); }
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

/// The programs of several files, or all of one. Equal programs are one task with their number as weight.
struct Picked {
  std::vector<Selection> selections;
  std::vector<tune::TuningTask> tasks;
  std::vector<std::string> files;
  std::vector<SizedProgram> sized = {};     // with `--sizes`: in the order of the tasks, without their selections
};

/// The programs that `--sizes` makes.
auto pick_sized(const Arguments& arguments, uint64_t seed, Reporter& reporter) -> std::variant<Picked, int> {
  auto made = pick_sizes(arguments, reporter);
  if (const int* status = std::get_if<int>(&made)) { return *status; }
  Picked out;
  for (SizedProgram& one : std::get<0>(made)) {
    Selection& selection = one.selection;
    out.tasks.push_back({.module = selection.before, .function = selection.function, .target = selection.target, .label = selection.program.str(), .roof_seconds = floor_seconds(selection)});
    if (uses_metaschedule(arguments, selection.target)) {
      auto pieces = read_tuner_pieces(arguments, selection, reporter);
      if (const int* status = std::get_if<int>(&pieces)) { return *status; }
      out.tasks.back().space = space_of_pieces(std::get<0>(std::move(pieces)), selection.target, seed);
    }
    out.files.push_back(arguments.positional()[0]);
    out.selections.push_back(std::move(selection));
    out.sized.push_back(std::move(one));
  }
  return out;
}

/// The numbers of `--weights`; empty: the option is not given. None: the text is wrong.
auto read_weights(const Arguments& arguments) -> std::optional<std::vector<double>> {
  const std::string text = arguments.get("--weights", "");
  std::vector<double> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    char* rest = nullptr;
    const double weight = std::strtod(one.c_str(), &rest);
    if (one.empty() || *rest != '\0' || !(weight >= 0 && weight <= 1e9)) { return std::nullopt; }
    out.push_back(weight);
    begin = end + 1;
  }
  return out;
}

auto pick_all(const Arguments& arguments, uint64_t seed, Reporter& reporter) -> std::variant<Picked, int> {
  Picked out;
  const auto weights = read_weights(arguments);
  if (!weights) { return usage_error("tune", "`--weights` takes numbers from 0 on, as `2,1`, not `" + arguments.get("--weights", "") + "`"); }
  size_t programs = 0;
  for (const std::string& path : arguments.positional()) {
    auto file = SourceFile::read(path);
    if (!file.ok()) {
      reporter.report(file.diagnostics(), nullptr);
      return reporter.status();
    }
    for (const workspace::Program& program : workspace::top_programs(*(*file)->snapshot())) {
      const std::string name = program.name.str();
      if (arguments.has("--function") && arguments.get("--function", "") != name) { continue; }
      auto picked = pick(arguments, {.path = path, .function = name, .needs_target = true, .needs_function = true}, reporter);
      if (const int* status = std::get_if<int>(&picked)) { return *status; }
      auto& selection = std::get<Selection>(picked);
      const double weight = programs < weights->size() ? (*weights)[programs] : 1;
      ++programs;
      auto same = std::find_if(out.tasks.begin(), out.tasks.end(), [&](const tune::TuningTask& t) { return structural_equal(t.module, selection.before) && t.target.str() == selection.target.str(); });
      if (same != out.tasks.end()) {
        same->weight += weight;
        continue;
      }
      out.tasks.push_back({.module = selection.before, .function = selection.function, .target = selection.target, .label = name, .weight = weight, .roof_seconds = floor_seconds(selection)});
      if (uses_metaschedule(arguments, selection.target)) {
        auto pieces = read_tuner_pieces(arguments, selection, reporter);
        if (const int* status = std::get_if<int>(&pieces)) { return *status; }
        out.tasks.back().space = space_of_pieces(std::get<0>(std::move(pieces)), selection.target, seed);
      }
      out.files.push_back(path);
      out.selections.push_back(std::move(selection));
    }
  }
  if (!weights->empty() && weights->size() != programs) { return usage_error("tune", fmt::format("`--weights` has {} numbers, and the files have {} programs", weights->size(), programs)); }
  return out;
}

/// The schedules that several sizes share, which are printed or written into the file. Empty: there are none, which is reported.
auto share(const Arguments& arguments, const Selection& whole, const std::vector<Selection>& sized, const std::vector<tune::TaskResult>& results, int& status, Reporter& reporter) -> std::vector<SharedSchedule> {
  std::string why;
  const std::string& path = arguments.positional()[0];
  const auto percent = parse_number(arguments.get("--share", ""), 0, 1000);
  auto shared = shared_schedules(whole, sized, results, path, arguments.get("--target", "llvm"), static_cast<double>(*percent) / 100, why);
  if (shared.empty() && !arguments.json()) { fmt::print(stderr, "note: no schedule is shared: {}\n", why); }
  for (const SharedSchedule& one : shared) {
    nlohmann::json covers = nlohmann::json::array();
    std::string names;
    for (size_t i = 0; i < sized.size(); ++i) {
      if (!one.covers[i]) { continue; }
      covers.push_back({{"program", sized[i].program.str()}, {"seconds", one.seconds[i]}});
      names += (names.empty() ? "" : ", ") + sized[i].program.str();
    }
    if (arguments.json()) {
      fmt::print("{}\n", nlohmann::json({{"event", "shared"}, {"program", one.program}, {"name", one.name}, {"schedule_text", one.text}, {"verified", one.verified}, {"covers", std::move(covers)}}).dump());
    } else {
      fmt::print(stderr, "shared: `{}` serves {}\n", one.name, names);
    }
    if (arguments.has("--insert")) { status = std::max(status, insert(arguments, path, whole, one.name, one.text, reporter)); }
    else if (!arguments.json()) { fmt::print("{}\n", one.text); }
  }
  return shared;
}

/// Several programs with one budget, and a table at the end.
auto tune_all(const Arguments& arguments, tune::SessionOptions options, Reporter& reporter) -> int {
  if (arguments.has("--with")) { return usage_error("tune", "`--with` names a schedule of one file"); }
  auto all = !given_sizes(arguments).empty() ? pick_sized(arguments, options.seed, reporter) : pick_all(arguments, options.seed, reporter);
  if (const int* status = std::get_if<int>(&all)) { return *status; }
  auto& [selections, tasks, files, sized] = std::get<Picked>(all);
  if (tasks.empty()) { return fail(arguments, "the files have no program to tune"); }
  if (auto taken = take_model(arguments, selections[0], reporter, options)) { return *taken; }
  if (auto taken = take_runner(arguments, selections[0], reporter, options)) { return *taken; }
  std::string problem;
  const auto scheduler = tune::read_scheduler(arguments.get("--scheduler", "gain"), problem);
  if (!scheduler) { return usage_error("tune", "`--scheduler`: " + problem); }
  listen_to_signals();
  size_t shown = tasks.size();
  auto results = tune::tune_several(tasks, options, [&](size_t number, const tune::Progress& progress) {
    if (arguments.json()) {
      if (progress.phase == "measuring") {
        fmt::print("{}\n", nlohmann::json({{"event", "progress"}, {"program", tasks[number].label}, {"trial", progress.trials}, {"best_seconds", progress.best_seconds}, {"phase", progress.phase}}).dump());
      }
    } else if (number != shown) {
      shown = number;
      fmt::print(stderr, "tune: {} ({} trials, best {})\n", tasks[number].label, progress.trials, known_time(progress.best_seconds));
    }
  }, *scheduler);
  int status = exit_done;
  const auto shared = arguments.has("--share") ? share(arguments, sized.front().whole, selections, results, status, reporter) : std::vector<SharedSchedule>();
  std::vector<std::string> own(tasks.size());     // the schedules that serve one size
  for (size_t i = 0; i < tasks.size(); ++i) {
    const tune::TaskResult& task = results[i];
    const std::vector<Cause> causes = with_reproducers(arguments, options, tasks[i].label, task.result.causes);
    std::string name, text;
    const bool is_served = std::any_of(shared.begin(), shared.end(), [&](const SharedSchedule& one) { return one.covers[i]; });
    if (task.result.found && !is_served) {
      auto found = found_text(selections[i], task.result, arguments, options.seed);
      name = own[i] = found.name;
      if (found.text.ok()) { text = (sized.empty() ? std::string() : sized[i].text) + *found.text; }
    }
    if (arguments.json()) {
      fmt::print("{}\n", nlohmann::json({{"event", "task"}, {"program", tasks[i].label}, {"file", files[i]}, {"weight", tasks[i].weight}, {"trials", task.trials}, {"best_seconds", task.result.best_seconds},
                                         {"plain_seconds", task.result.plain_seconds}, {"roof_seconds", task.roof_seconds}, {"gain_left", task.gain_left}, {"ended_by", tune::text_of(task.end)}, {"why", task.why},
                                         {"flops", task.result.flops}, {"measured", task.result.progress.trial_seconds}, {"arms", arms_of(task.result.progress)},
                                         {"verified", task.result.verified}, {"device", task.result.device}, {"ranked", task.result.is_ranked}, {"profile", profile_as_json(task.result.progress.profile)}, {"name", name}, {"schedule_text", text}, {"causes", causes_as_json(files[i], tasks[i].label, causes)}}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      report_causes(files[i], tasks[i].label, causes);
    }
    if (text.empty()) { continue; }
    if (arguments.has("--insert")) { status = std::max(status, insert(arguments, files[i], sized.empty() ? selections[i] : sized[i].whole, name, text, reporter)); }
    else if (!arguments.json()) { fmt::print("{}\n", text); }
  }
  if (!arguments.json()) {
    fmt::print(stderr, "{}", tune::table_of(tasks, results));
    if (!shared.empty()) { fmt::print(stderr, "{}", dispatch_table(shared, selections, results, own)); }
    tune::Profile total;
    for (const tune::TaskResult& task : results) {
      const tune::Profile& one = task.result.progress.profile;
      total.space += one.space;
      total.search += one.search;
      total.build += one.build;
      total.measure += one.measure;
      total.compare += one.compare;
    }
    fmt::print(stderr, "time: {}\n", tune::profile_text(total));
    auto ranked = std::find_if(results.begin(), results.end(), [](const tune::TaskResult& task) { return task.result.is_ranked; });
    if (ranked != results.end()) { fmt::print(stderr, "note: times for targets without a device are estimates; nothing was measured\n"); }
  }
  const bool has_failed = std::any_of(results.begin(), results.end(), [](const tune::TaskResult& task) { return task.end == tune::TaskEnd::Failed; });
  return has_failed ? std::max(status, static_cast<int>(exit_input)) : status;
}

/// The search that the file asks for, where the command line asks for none.
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
auto write_log(const Arguments& arguments, const std::string& path, const Selection& selection, const tune::SessionOptions& options, const std::string& device, const LogLine& line_of, Reporter& reporter)
    -> std::optional<int> {
  // The trials come from the database.
  if (options.database == ":memory:") {
    if (!arguments.json()) { fmt::print(stderr, "note: no records are appended to {}: `--db :memory:` keeps no trials\n", path); }
    return {};
  }
  auto written = append_trials(path, selection, options, device, line_of);
  if (!written.ok()) {
    reporter.report(written.diagnostics(), nullptr);
    return reporter.status();
  }
  if (!arguments.json()) { fmt::print(stderr, "{} records appended to {}\n", *written, path); }
  return {};
}

/// The knobs of an AutoTVM template.
auto tune_template(const Arguments& arguments, tune::SessionOptions options, const Selection& selection, Reporter& reporter) -> int {
  if (arguments.has("--space")) { return usage_error("tune", "`--space` and templates exclude each other: `" + selection.schedule + "` is the space"); }
  if (arguments.has("--insert")) { return usage_error("tune", "`--insert` writes schedules of programs: keep the records of a template with `--log F`, and apply the best one with `loopsmith schedule FILE --log F`"); }
  TemplateSearch search(selection);
  options.space = [&](const tune::SpaceContext& context) { return search.space(context); };
  take_search_of_file(arguments, selection, options);
  if (arguments.has("--explain-space")) { return explain(arguments, selection, options, reporter); }
  listen_to_signals();
  ProgressLine line(arguments.json(), floor_seconds(selection));
  options.on_progress = [&](const tune::Progress& p) { line.show(p); };
  auto result = tune::tune(selection.before, selection.function, selection.target, selection.program.str(), options);
  if (!result.ok()) {
    if (arguments.json()) { return fail(arguments, result.diagnostics().front().message()); }
    reporter.report(result.diagnostics(), selection.file.get());
    return reporter.status();
  }
  if (result->abandoned) { return fail(arguments, "the best was not compared with the program, so it is not offered; the measurements are kept"); }
  const std::vector<Cause> causes = with_reproducers(arguments, options, selection.program.str(), result->causes);
  if (!arguments.json()) { report_causes(arguments.positional()[0], selection.program.str(), causes); }
  const std::string asked_log = log_beside(arguments.positional()[0], script::autotvm::asked_search(selection.file->document().file()).log);
  if (std::string path = arguments.get("--log", asked_log); !path.empty()) {
    auto line_of = [&](const std::string& trace, double seconds) { return search.line(trace, seconds); };
    if (auto status = write_log(arguments, path, selection, options, result->device, line_of, reporter)) { return *status; }
  }
  if (!result->found && result->is_unscheduled_best && !arguments.json()) {
    fmt::print(stderr, "loopsmith tune: {}\n", tune::why_nothing(*result));
    return exit_done;
  }
  if (!result->found) { return fail(arguments, tune::why_nothing(*result)); }
  const std::string record = search.line(result->trace, result->best_seconds);
  if (arguments.json()) {
    report_done_as_json(selection, *result, selection.schedule, record, causes_as_json(arguments.positional()[0], selection.program.str(), causes));
    return exit_done;
  }
  report_done(*result);
  fmt::print(stderr, "configuration: {}\n", search.configuration(result->trace));
  fmt::print("{}\n", record);
  return exit_done;
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
  const bool is_default = asked.is_asked && !arguments.has("--space") && !names_pieces(arguments) && !is_gpu_target(selection.target.kind);
  const bool is_wanted = arguments.get("--space", "") == "ansor" || is_default;
  if (!is_wanted && arguments.has("--log")) { return usage_error("tune", "`--log` is for AutoTVM templates, and for tasks of the auto-scheduler with `--space ansor`"); }
  if (!is_wanted) { return {}; }
  if (!task) {
    return fail(arguments, fmt::format("`--space ansor` needs a task of the auto-scheduler, and `{}` is not one: write `task = auto_scheduler.SearchTask(func=..., args=..., target=...)`", selection.program.view()));
  }
  out.search = std::make_unique<AnsorSearch>(selection, *std::move(task));
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
    return fail(arguments, fmt::format("`{}` has no `sch.tune()` to fill, and samples nothing: write `sch.tune()` as a statement of its own where the search is to go on, or choose numbers by `sch.sample_perfect_tile` and its like",
                                       selection.schedule));
  }
  if (names_pieces(arguments)) { return usage_error("tune", "`--with` names the space, so `--rules`, `--postprocs` and `--mutators` do not apply"); }
  if (arguments.has("--space")) { return usage_error("tune", "`--space` and `--with` exclude each other: `" + selection.schedule + "` is the space"); }
  return {};
}

/// Prints the schedule that a search found, or inserts it into the file. Returns the exit status.
auto offer(const Arguments& arguments, const Selection& selection, uint64_t seed, const tune::SessionResult& result, const std::vector<Cause>& causes, Reporter& reporter) -> int {
  const std::string& path = arguments.positional()[0];
  if (!result.found) { return fail(arguments, tune::why_nothing(result), causes_as_json(path, selection.program.str(), causes)); }
  auto [name, text] = found_text(selection, result, arguments, seed);
  if (!text.ok()) { return fail(arguments, text.diagnostics().front().message()); }
  if (arguments.json()) {
    report_done_as_json(selection, result, name, *text, causes_as_json(path, selection.program.str(), causes));
  } else {
    report_done(result);
    if (!arguments.has("--insert")) { fmt::print("{}{}", *text, selection.hole ? "\n" : ""); }
  }
  return arguments.has("--insert") ? insert(arguments, path, selection, name, *text, reporter) : static_cast<int>(exit_done);
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
  listen_to_signals();
  ProgressLine line(arguments.json(), floor_seconds(selection));
  options.on_progress = [&](const tune::Progress& p) { line.show(p); };

  auto result = tune::tune(searched_program(selection), selection.function, selection.target, selection.program.str(), options);
  if (!result.ok()) {
    if (arguments.json()) { return fail(arguments, result.diagnostics().front().message()); }
    reporter.report(result.diagnostics(), selection.file.get());
    return reporter.status();
  }
  if (arguments.has("--candidate")) {
    if (!arguments.json()) { fmt::print(stderr, "{}", candidates_as_text(result->progress)); }
    else { fmt::print("{}\n", nlohmann::json({{"event", "candidates"}, {"candidates", candidates_as_json(result->progress)}}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)); }
  }
  if (result->abandoned) { return fail(arguments, "the best was not compared with the program, so it is not offered; the measurements are kept"); }
  const std::string& path = arguments.positional()[0];
  // The result of each candidate has its reason already.
  if (arguments.has("--candidate")) { result->causes.clear(); }
  const std::vector<Cause> causes = with_reproducers(arguments, options, selection.program.str(), result->causes);
  if (!arguments.json()) { report_causes(path, selection.program.str(), causes); }
  if (of_task.search && !of_task.log.empty()) {
    auto line_of = [&](const std::string& trace, double seconds) { return of_task.search->line(trace, seconds); };
    if (auto status = write_log(arguments, of_task.log, selection, options, result->device, line_of, reporter)) { return *status; }
  }
  return offer(arguments, selection, options.seed, *result, causes, reporter);
}

}  // namespace loopsmith::driver::commands
