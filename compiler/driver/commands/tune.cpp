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

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/execution.h"
#include "driver/program.h"
#include "ir/equal.h"
#include "support/process.h"
#include "support/text.h"
#include "target/peaks.h"
#include "tune/session/session.h"
#include "tune/space/trace_spaces.h"
#include "workspace/edits/certificate.h"
#include "workspace/edits/holes.h"
#include "workspace/edits/placing.h"
#include "workspace/edits/schedule_text.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "tune",
    .arguments = "FILE [--function F | --with NAME] [--target T] [--trials N] [--time S] [--db F] [--insert]",
    .summary = "Searches for a fast schedule of a program by building and measuring candidates.",
    .details = "Candidates run in processes of their own with limits, so one that crashes or never ends does not stop the search. Ctrl-C stops it,\n"
               "compares the best candidate with the program and keeps it; a second Ctrl-C skips the comparison and keeps nothing. All measurements\n"
               "are kept in the database, and the same command continues where it stopped. With a schedule function the search fills its\n"
               "`sch.tune(budget=\"2min\")`, or `...` as a statement; it begins with the program in front of that statement. A schedule function that samples\n"
               "numbers (`sch.sample_perfect_tile` and its like) is itself the space: the search decides each of them.",
    .options = {function_option,
                {.name = "--with", .value = "NAME", .help = "the schedule function whose `sch.tune()` is filled, or whose samples are decided"},
                target_option,
                {.name = "--trials", .value = "N", .help = "candidates to measure"},
                {.name = "--time", .value = "S", .help = "the time for all of it: 30, 90s, 2min; a part is kept for comparing the best with the program. Without --trials the default is 60 s"},
                {.name = "--db", .value = "F", .help = "the database of all measurements; the default is below XDG_DATA_HOME"},
                {.name = "--seed", .value = "N", .help = "the seed of the search; the default is 0"},
                {.name = "--strategy", .value = "S", .help = "guided (the default), or random for comparison"},
                {.name = "--space", .value = "S", .help = "the candidates: `own` (the default), or `metaschedule`, the traces of TVM's rules"},
                {.name = "--workers", .value = "N", .help = "processes that build candidates; the default is 2"},
                {.name = "--insert", .help = "writes the best schedule into the file"},
                {.name = "--no-verify", .help = "offers the best schedule without comparing its results with the program's"},
                json_option},
    .examples = {{"loopsmith tune matmul.tir --time 60 --insert", "a minute, then the best schedule stands in the file"},
                 {"loopsmith tune matmul.tir --trials 128 --db tuning.db", "128 candidates"},
                 {"loopsmith tune matmul.tir --with tiled --insert", "the steps that were found replace `sch.tune()` in `tiled`"}},
    .least = 1,
    .most = 1,
};

/// The number of times that Ctrl-C was pressed: the first ends the search, the second also the comparison of its best candidate.
std::atomic<int> stops_asked{0};
void on_stop(int) { ++stops_asked; }

/// SIGUSR1 pauses the search, SIGUSR2 continues it.
std::atomic<bool> is_paused{false};
void on_pause(int signal) { is_paused = signal == SIGUSR1; }

/// A dash for an unknown time.
auto known_time(double seconds) -> std::string { return seconds > 0 ? duration_text(seconds) : "-"; }

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
    fmt::print("{}\n", line.dump());
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
    fmt::print(stderr, "\r\x1b[K{} {}{}", bar(p), text, p.phase == "done" ? "\n" : "");
    std::fflush(stderr);
  }
  /// "7 s of 16 s" during the search; afterwards, of the whole budget, and the time of a comparison beyond it.
  static auto time_text(const tune::Progress& p) -> std::string {
    std::string out = fmt::format("{:.0f} s", p.elapsed_seconds);
    if (p.limit_seconds <= 0 || p.phase == "done") { return out; }
    if (p.elapsed_seconds > p.limit_seconds) {
      return out + fmt::format(": {:.0f} s more than asked for, as the comparison with the program takes longer", p.elapsed_seconds - p.limit_seconds);
    }
    bool is_search = p.phase != "confirming" && p.phase != "verifying";
    return out + fmt::format(" of {:.0f} s", is_search && p.search_limit_seconds > 0 ? p.search_limit_seconds : p.limit_seconds);
  }
  static auto bar(const tune::Progress& p) -> std::string {
    double done = 0;
    if (p.trials_total > 0) { done = std::max(done, static_cast<double>(p.trials) / p.trials_total); }
    if (p.limit_seconds > 0) { done = std::max(done, p.elapsed_seconds / p.limit_seconds); }
    done = p.phase == "done" ? 1 : std::min(done, 1.0);
    constexpr size_t width = 24;
    auto filled = static_cast<size_t>(done * width);
    std::string out;
    for (size_t i = 0; i < width; ++i) { out += i < filled ? "█" : "░"; }
    return out;
  }

  bool json_;
  bool terminal_;
  double floor_;
  size_t reported_ = 0;   // trials in the lines so far
  std::string best_;
  double shown_ = -1e9;
  std::string phase_;
};

/// `tune::least_seconds` with the peaks measured earlier; 0: no peaks were measured.
auto floor_seconds(const Selection& selection) -> double {
  auto peaks = target::cached_peaks();
  return peaks ? tune::least_seconds(selection.before, selection.function, *peaks) : 0;
}

/// Reports a failure in the requested form.
auto fail(const Arguments& arguments, const std::string& why) -> int {
  if (arguments.json()) { fmt::print("{}\n", nlohmann::json({{"event", "error"}, {"message", why}}).dump()); }
  else { fmt::print(stderr, "loopsmith tune: {}\n", why); }
  return exit_input;
}

/// `post-order-apply` is TVM's name of the same space.
auto is_metaschedule(const std::string& space) -> bool { return space == "metaschedule" || space == "post-order-apply"; }
auto is_space_name(const std::string& space) -> bool { return space == "own" || is_metaschedule(space); }

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
  if (auto text = arguments.get("--strategy")) {
    if (*text != "guided" && *text != "random") { return usage_error("tune", "`--strategy` is guided or random, not `" + *text + "`"); }
    options.strategy = *text == "random" ? tune::Strategy::Random : tune::Strategy::Guided;
  }
  if (auto text = arguments.get("--space"); text && !is_space_name(*text)) { return usage_error("tune", "`--space` is own or metaschedule, not `" + *text + "`"); }
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
auto found_text(const Selection& selection, const tune::SessionResult& result, const std::string& target, uint64_t seed) -> FoundText {
  const IRModule& searched = searched_program(selection);
  workspace::ScheduleText form;
  form.program = selection.program.str();
  form.name = workspace::free_name(selection.file->snapshot()->text(), form.program + "_tuned");
  form.target = target;
  double speedup = result.plain_seconds > 0 ? result.plain_seconds / result.best_seconds : 0;
  form.comments.push_back(fmt::format("{}{}{}{}, {} trials, seed {}.", workspace::tuned_comment, duration_text(result.best_seconds),
                                      result.flops > 0 ? fmt::format(", {:.1f} GFLOP/s", result.flops / result.best_seconds * 1e-9) : "",
                                      speedup > 0 ? fmt::format(", {:.{}f} times as fast as unscheduled", speedup, speedup < 1.1 ? 2 : 1) : "", result.progress.trials, seed));
  form.comments.push_back(result.verified.empty() ? "Not verified." : "Verified: " + result.verified + ".");
  // Hashes are of a whole schedule. The steps that fill a hole are a part of one, and other steps may follow.
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

void report_done_as_json(const Selection& selection, const tune::SessionResult& result, const std::string& name, const std::string& text) {
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
                         {"best_so_far", result.best_so_far}};
  // The place of the hole in the text that was read, and the program in front of it.
  if (selection.hole) { done["hole"] = {{"offset", selection.hole->span.begin}, {"end", selection.hole->span.end}, {"state", selection.hole->state}}; }
  fmt::print("{}\n", done.dump());
  std::fflush(stdout);
}

void report_done(const tune::SessionResult& result) {
  std::string failures;
  for (const auto& [name, count] : result.progress.failures) { failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", count, name); }
  fmt::print(stderr, "best: {}, {} trials in {:.0f} s{}\n", tune::best_text(result), result.progress.trials, result.progress.elapsed_seconds,
             failures.empty() ? "" : "; left out: " + failures);
  for (const std::string& note : result.notes) { fmt::print(stderr, "note: {}\n", note); }
  if (!result.verified.empty()) { fmt::print(stderr, "verified: {}\n", result.verified); }
}

/// True if the text still contains the searched program, and in front of the hole the same steps.
auto is_same_program(const Arguments& arguments, const std::string& text, const Selection& selection) -> bool {
  auto file = SourceFile::from_text(arguments.positional()[0], text);
  workspace::SelectionOutput unused;
  std::string function = arguments.get("--function", selection.schedule.empty() ? selection.program.str() : std::string());
  auto now = workspace::select(file->document(), {.function = function, .schedule = selection.schedule, .stops_at_hole = true}, unused);
  const auto* found = std::get_if<workspace::Selection>(&now);
  if (found == nullptr || !structural_equal(found->before, selection.before)) { return false; }
  return !selection.hole || (found->hole && found->hole->state == selection.hole->state);
}

/// Writes a found schedule into the present text of the file.
auto insert(const Arguments& arguments, const Selection& selection, const std::string& name, const std::string& text, Reporter& reporter) -> int {
  const std::string& path = arguments.positional()[0];
  auto report = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, selection.file.get());
    return reporter.status();
  };
  auto content = read_file(path);
  if (!content.ok()) { return report(content.diagnostics()); }
  if (!is_same_program(arguments, *content, selection)) {
    // The schedule was found for, and verified on, another program: the database keeps it, but it is not written into the file.
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

}  // namespace

auto tune(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  auto asked = read_options(arguments);
  if (const int* status = std::get_if<int>(&asked)) { return *status; }
  auto& options = std::get<tune::SessionOptions>(asked);

  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true, .needs_function = true, .until_hole = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  const bool is_space = !selection.schedule.empty() && !selection.hole;
  if (is_space && !(selection.trace && tune::has_samples(*selection.trace))) {
    return fail(arguments, fmt::format("`{}` has no `sch.tune()` to fill, and samples nothing: write `sch.tune()` as a statement of its own where the search is to go on, or choose numbers by `sch.sample_perfect_tile` and its like",
                                       selection.schedule));
  }
  if (is_space && arguments.has("--space")) { return usage_error("tune", "`--space` and `--with` exclude each other: `" + selection.schedule + "` is the space"); }
  bool is_bounded = arguments.has("--trials") || arguments.has("--time");
  if (selection.hole && !is_bounded && (selection.hole->seconds > 0 || selection.hole->trials > 0)) {
    options.seconds = selection.hole->seconds;
    options.trials = static_cast<int>(std::min<int64_t>(selection.hole->trials, 10'000'000));
  }
  if (is_metaschedule(arguments.get("--space", "own"))) {
    options.space = [&](const tune::SpaceContext& context) { return tune::metaschedule_space(context, selection.target, options.seed); };
  }
  if (is_space) { options.space = [&](const tune::SpaceContext& context) { return tune::sampled_space(context, selection.schedule, *selection.trace); }; }
  listen_to_signals();
  ProgressLine line(arguments.json(), floor_seconds(selection));
  options.on_progress = [&](const tune::Progress& p) { line.show(p); };

  auto result = tune::tune(searched_program(selection), selection.function, selection.target, selection.program.str(), options);
  if (!result.ok()) {
    if (arguments.json()) { return fail(arguments, result.diagnostics().front().message()); }
    reporter.report(result.diagnostics(), selection.file.get());
    return reporter.status();
  }
  if (result->abandoned) { return fail(arguments, "the best was not compared with the program, so it is not offered; what was measured is kept"); }
  if (!result->found) { return fail(arguments, tune::why_nothing(*result)); }
  auto [name, text] = found_text(selection, *result, arguments.get("--target", "llvm"), options.seed);
  if (!text.ok()) { return fail(arguments, text.diagnostics().front().message()); }
  if (arguments.json()) {
    report_done_as_json(selection, *result, name, *text);
  } else {
    report_done(*result);
    if (!arguments.has("--insert")) { fmt::print("{}{}", *text, selection.hole ? "\n" : ""); }
  }
  return arguments.has("--insert") ? insert(arguments, selection, name, *text, reporter) : static_cast<int>(exit_done);
}

}  // namespace loopsmith::driver::commands
