// `loopsmith tune FILE`: searches for a fast schedule, with live progress; `--insert` writes the best one into the file. With
// `--json` it is what editors start in the background.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <set>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/program.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "target/peaks.h"
#include "support/process.h"
#include "syntax/python_schedule.h"
#include "tune/session/session.h"
#include "tune/session/text.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "tune",
    .arguments = "FILE [--function F | --with NAME] [--target T] [--trials N] [--time S] [--db F] [--insert]",
    .summary = "Searches for a fast schedule of a program by building and measuring candidates.",
    .details = "Candidates run in programs of their own, with limits: one that crashes or never ends costs itself only. Ctrl-C stops\n"
               "and keeps the best so far, once it is compared with the program; a second Ctrl-C gives that up. Everything measured is kept; the same command goes on where it was.\n"
               "With a schedule function the search fills its `sch.tune(budget=\"2min\")`, or `...` as a statement: it begins with what the statements before made.",
    .options = {function_option,
                {.name = "--with", .value = "NAME", .help = "the schedule function whose `sch.tune()` is filled"},
                target_option,
                {.name = "--trials", .value = "N", .help = "candidates to measure"},
                {.name = "--time", .value = "S", .help = "how long it may take: 30, 90s, 2min; 60 s where neither is said"},
                {.name = "--db", .value = "F", .help = "the database of what was measured; below XDG_DATA_HOME"},
                {.name = "--seed", .value = "N", .help = "of the search; 0"},
                {.name = "--strategy", .value = "S", .help = "guided, or random (for comparison)"},
                {.name = "--workers", .value = "N", .help = "programs that build candidates; 2"},
                {.name = "--insert", .help = "writes the best schedule into the file"},
                {.name = "--no-verify", .help = "offers the best without comparing its results"},
                json_option},
    .examples = {{"loopsmith tune matmul.tir --time 60 --insert", "a minute, then the best schedule stands in the file"},
                 {"loopsmith tune matmul.tir --trials 128 --db tuning.db", "128 candidates"},
                 {"loopsmith tune matmul.tir --with tiled --insert", "the steps found take the place of `sch.tune()` in `tiled`"}},
    .least = 1,
    .most = 1,
};

/// How often Ctrl-C was pressed: once ends the search, twice the comparison of its best too.
std::atomic<int> stops_asked{0};
void on_stop(int) { ++stops_asked; }

/// SIGUSR1 pauses the search, SIGUSR2 lets it go on.
std::atomic<bool> is_paused{false};
void on_pause(int signal) { is_paused = signal == SIGUSR1; }

auto time_text(double seconds) -> std::string {
  if (seconds <= 0) { return "-"; }
  if (seconds > 0 && seconds < 1e-7) { return fmt::format("{:.1f} ns", seconds * 1e9); }
  if (seconds < 1e-3) { return fmt::format("{:.1f} us", seconds * 1e6); }
  if (seconds < 1) { return fmt::format("{:.3f} ms", seconds * 1e3); }
  return fmt::format("{:.3f} s", seconds);
}

// One line, rewritten in place on a terminal; elsewhere a plain line now and then.
class ProgressLine {
 public:
  /// `floor`: seconds that a call takes at least on this machine; 0: not known.
  ProgressLine(bool json, double floor) : json_(json), terminal_(!json && ::isatty(STDERR_FILENO)), floor_(floor) {}
  void show(const tune::Progress& p) {
    bool is_last = p.phase == "done";
    double least = json_ ? 0.1 : terminal_ ? 0.1 : 5;
    if (!is_last && p.phase == phase_ && p.elapsed_seconds - shown_ < least) { return; }
    shown_ = p.elapsed_seconds;
    phase_ = p.phase;
    if (json_) {
      nlohmann::json line = {{"event", "progress"}, {"trial", p.trials}, {"elapsed", p.elapsed_seconds}, {"phase", p.phase}};
      if (p.trials_total > 0) { line["trials"] = p.trials_total; }
      if (p.limit_seconds > 0) { line["limit"] = p.limit_seconds; }
      if (p.best_seconds > 0) { line["best_seconds"] = p.best_seconds; }
      if (p.plain_seconds > 0) { line["plain_seconds"] = p.plain_seconds; }
      if (p.flops > 0) { line["flops"] = p.flops; }
      if (floor_ > 0) { line["floor_seconds"] = floor_; }
      // What is new since the last line: the trials, and the best schedule.
      line["measured"] = std::vector<double>(p.trial_seconds.begin() + static_cast<ptrdiff_t>(told_), p.trial_seconds.end());
      told_ = p.trial_seconds.size();
      if (p.best_python != best_) { line["best_schedule"] = best_ = p.best_python; }
      if (p.is_stopped) { line["stopped"] = true; }
      fmt::print("{}\n", line.dump());
      std::fflush(stdout);
      return;
    }
    double done = 0;
    if (p.trials_total > 0) { done = std::max(done, static_cast<double>(p.trials) / p.trials_total); }
    if (p.limit_seconds > 0) { done = std::max(done, p.elapsed_seconds / p.limit_seconds); }
    done = is_last ? 1 : std::min(done, 1.0);
    bool compares_stopped = p.is_stopped && p.phase == "verifying";
    std::string rate = p.best_seconds > 0 && p.flops > 0 ? fmt::format(", {:.1f} GFLOP/s", p.flops / p.best_seconds * 1e-9) : std::string();
    std::string text = fmt::format("{:<10} {} trials, best {}{}, {:.0f} s", p.phase, p.trials, time_text(p.best_seconds), rate, p.elapsed_seconds);
    if (compares_stopped) { text = fmt::format("stopped; comparing the best of {} trials, {}, with the program (Ctrl-C gives it up)", p.trials, time_text(p.best_seconds)); }
    if (!terminal_) {
      fmt::print(stderr, "tune: {}\n", text);
      return;
    }
    constexpr size_t width = 24;
    auto filled = static_cast<size_t>(done * width);
    std::string bar;
    for (size_t i = 0; i < width; ++i) { bar += i < filled ? "█" : "░"; }
    fmt::print(stderr, "\r\x1b[K{} {}", bar, text);
    if (is_last) { fmt::print(stderr, "\n"); }
    std::fflush(stderr);
  }

 private:
  bool json_;
  bool terminal_;
  double floor_;
  size_t told_ = 0;
  std::string best_;
  double shown_ = -1e9;
  std::string phase_;
};

// See `tune::least_seconds`; asked of the disk only.
auto floor_seconds(const Selection& selection) -> double {
  auto peaks = target::cached_peaks();
  return peaks ? tune::least_seconds(selection.before, selection.function, *peaks) : 0;
}

// A name for the new function that the file does not have yet.
auto free_name(const SourceFile& file, const std::string& program) -> std::string {
  auto taken = [&](const std::string& name) {
    for (const std::string& s : file.schedule_names()) { if (s == name) { return true; } }
    for (const NamedProgram& p : file.programs()) { if (p.name == std::string_view(name)) { return true; } }
    return false;
  };
  std::string base = program + "_tuned";
  std::string name = base;
  for (int n = 2; taken(name); ++n) { name = base + "_" + std::to_string(n); }
  return name;
}

// What a text calls things, strings left out: more than it binds, so nothing new can be mistaken for it.
auto names_in(const std::string& text) -> std::set<std::string> {
  std::set<std::string> names;
  std::string name;
  char quote = 0;
  for (char c : text) {
    if (quote == 0 && (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0)) { name += c; continue; }
    if (!name.empty()) { names.insert(std::exchange(name, {})); }
    if (c == '"' || c == '\'') { quote = quote == 0 ? c : quote == c ? '\0' : quote; }
    if (c == '\n') { quote = 0; }
  }
  return names;
}

// Lines that take the place of a statement, behind its indentation and with its line breaks.
auto indented_as(const std::string& text, uint32_t at, const std::string& lines) -> std::string {
  size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  std::string indent = text.substr(start, at - start);
  std::string eol = text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  std::string out;
  for (char c : lines) { c == '\n' ? out += eol + indent : out += c; }
  return out;
}

// A schedule function as a file of Python has it.
auto in_form_of(const syntax::Document& document, const std::string& function) -> std::string {
  return syntax::has_ls(document) ? function : syntax::python_schedule(function, syntax::python_form(document));
}

// A file with a schedule function at its end and, in Python, what that must import.
auto with_schedule(std::string content, const std::string& function, bool is_python) -> std::string {
  std::string eol = content.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  while (!content.empty() && std::string_view("\r\n ").find(content.back()) != std::string_view::npos) { content.pop_back(); }
  syntax::Document document(is_python ? content : std::string());
  auto put = [&](size_t at, const std::string& lines) {
    std::string text;
    for (char c : lines) { c == '\n' ? text += eol : text += c; }
    content.insert(at, text);
  };
  put(content.size(), "\n\n\n" + function);
  if (is_python && !syntax::has_ls(document)) {
    syntax::MissingImports missing = syntax::python_form(document).missing;
    put(missing.offset, missing.lines);
  }
  return content;
}

}  // namespace

auto tune(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  const std::string& path = arguments.positional()[0];
  tune::SessionOptions options;
  options.seconds = 60;
  bool is_bounded = arguments.has("--trials") || arguments.has("--time");
  if (auto text = arguments.get("--trials")) {
    auto n = parse_number(*text, 1, 10'000'000);
    if (!n) { return usage_error("tune", "`--trials` takes a number from 1 on, and got `" + *text + "`"); }
    options.trials = static_cast<int>(*n);
    options.seconds = 0;
  }
  if (auto text = arguments.get("--time")) {
    auto s = parse_seconds(*text);
    if (!s) { return usage_error("tune", "`--time` takes a time such as 30, 90s or 2min, and got `" + *text + "`"); }
    options.seconds = *s;
  }
  if (auto text = arguments.get("--seed")) {
    auto n = parse_number(*text, 0, 2'000'000'000);
    if (!n) { return usage_error("tune", "`--seed` takes a number, and got `" + *text + "`"); }
    options.seed = static_cast<uint64_t>(*n);
  }
  if (auto text = arguments.get("--workers")) {
    auto n = parse_number(*text, 1, 64);
    if (!n) { return usage_error("tune", "`--workers` takes a number from 1 to 64, and got `" + *text + "`"); }
    options.workers = static_cast<int>(*n);
  }
  if (auto text = arguments.get("--strategy")) {
    if (*text != "guided" && *text != "random") { return usage_error("tune", "`--strategy` is guided or random, and got `" + *text + "`"); }
    options.strategy = *text == "random" ? tune::Strategy::Random : tune::Strategy::Guided;
  }
  if (arguments.has("--insert") && path == "-") { return usage_error("tune", "`--insert` needs a file to write to, not standard input"); }
  options.database = arguments.get("--db", "");
  options.verify = !arguments.has("--no-verify");
  options.worker = {current_program(), "worker", "--measure"};

  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = path, .needs_target = true, .until_hole = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);

  auto failed = [&](const std::string& why) {
    if (arguments.json()) { fmt::print("{}\n", nlohmann::json({{"event", "error"}, {"message", why}}).dump()); }
    else { fmt::print(stderr, "loopsmith tune: {}\n", why); }
    return exit_input;
  };
  if (!selection.schedule.empty() && !selection.hole) {
    return failed(fmt::format("`{}` has no `sch.tune()` that a search could fill: write one as a statement of its own where the search is to go on", selection.schedule));
  }
  if (selection.hole && !is_bounded && (selection.hole->seconds > 0 || selection.hole->trials > 0)) {
    options.seconds = selection.hole->seconds;
    options.trials = static_cast<int>(std::min<int64_t>(selection.hole->trials, 10'000'000));
  }
  const IRModule& searched = selection.hole ? selection.module : selection.before;

  struct sigaction action {};
  action.sa_handler = on_stop;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = on_pause;
  ::sigaction(SIGUSR1, &action, nullptr);
  ::sigaction(SIGUSR2, &action, nullptr);
  options.paused = [] { return is_paused.load(); };
  options.stop = [] { return stops_asked.load() > 0; };
  options.abandon = [] { return stops_asked.load() > 1; };
  ProgressLine line(arguments.json(), floor_seconds(selection));
  options.on_progress = [&](const tune::Progress& p) { line.show(p); };

  auto result = tune::tune(searched, selection.function, selection.target, selection.program.str(), options);
  if (!result.ok()) {
    if (arguments.json()) { return failed(result.diagnostics().front().message()); }
    reporter.report(result.diagnostics(), selection.file.get());
    return reporter.status();
  }
  if (result->abandoned) { return failed("the best was not compared with the program, so it is not offered; what was measured is kept"); }
  if (!result->found) {
    bool is_fast = result->plain_seconds > 0 && result->progress.trials > 0 && result->progress.failures.empty();
    std::string why = is_fast ? fmt::format("none of {} schedules tried is as fast as the program as written, {}", result->progress.trials, time_text(result->plain_seconds))
                              : fmt::format("no schedule was found in {} trials", result->progress.trials);
    for (const auto& [name, count] : result->progress.failures) { why += fmt::format("; {}: {}", name, count); }
    for (const std::string& note : result->notes) { why += "; " + note; }
    return failed(result->stopped && result->progress.trials == 0 ? "stopped before anything was measured" : why);
  }

  std::string program = selection.program.str();
  tune::ScheduleText form;
  form.program = program;
  form.name = free_name(*selection.file, program);
  form.target = arguments.get("--target", "llvm");
  double speedup = result->plain_seconds > 0 ? result->plain_seconds / result->best_seconds : 0;
  form.comments.push_back(fmt::format("Tuned: {}{}{}, {} trials, seed {}.", time_text(result->best_seconds),
                                      result->flops > 0 ? fmt::format(", {:.1f} GFLOP/s", result->flops / result->best_seconds * 1e-9) : "",
                                      speedup > 0 ? fmt::format(", {:.1f} times as fast as unscheduled", speedup) : "", result->progress.trials,
                                      options.seed));
  form.comments.push_back(result->verified.empty() ? "Not verified." : "Verified by " + result->verified + ".");
  // Hashes are of a whole schedule: what fills a hole is a part of one, and other steps may follow.
  form.comments.push_back(tune::certificate_text(selection.hole ? std::nullopt : tune::certificate_of(searched, selection.function, result->trace),
                                                 {selection.target.str(), result->best_seconds, result->spread_seconds, result->timings, std::time(nullptr)}));
  if (selection.hole) {
    form.schedule = selection.hole->variable;
    form.taken = names_in(selection.hole->function);
  }
  auto text = selection.hole ? tune::schedule_statements_text(searched, result->trace, form) : tune::schedule_function_text(searched, result->trace, form);
  if (!text.ok()) { return failed(text.diagnostics().front().message()); }
  // Who gives a text without a file puts the schedule somewhere else.
  if (!selection.hole && path.ends_with(".py")) {
    if (auto content = read_file(path); content.ok()) { text = in_form_of(syntax::Document(*content), *text); }
  }

  if (arguments.json()) {
    nlohmann::json done = {{"event", "done"},
                           {"schedule_text", *text},
                           {"name", form.name},
                           {"trace", result->trace},
                           {"best_seconds", result->best_seconds},
                           {"plain_seconds", result->plain_seconds},
                           {"spread_seconds", result->spread_seconds},
                           {"flops", result->flops},
                           {"trials", result->progress.trials},
                           {"elapsed", result->progress.elapsed_seconds},
                           {"stopped", result->stopped},
                           {"verified", result->verified},
                           {"best_so_far", result->best_so_far}};
    if (selection.hole) {
      // Where it goes in the text that was read, and which program it is for.
      done["name"] = selection.schedule;
      done["hole"] = {{"offset", selection.hole->statement.begin}, {"end", selection.hole->statement.end}, {"state", fmt::format("{:016x}", structural_hash(searched))}};
    }
    fmt::print("{}\n", done.dump());
    std::fflush(stdout);
  } else {
    std::string failures;
    for (const auto& [name, count] : result->progress.failures) { failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", count, name); }
    fmt::print(stderr, "best of {} trials in {:.0f} s: {} (as written: {}){}\n", result->progress.trials, result->progress.elapsed_seconds,
               time_text(result->best_seconds), result->plain_seconds > 0 ? time_text(result->plain_seconds) : "not measured", failures.empty() ? "" : "; left out: " + failures);
    for (const std::string& note : result->notes) { fmt::print(stderr, "note: {}\n", note); }
    if (!result->verified.empty()) { fmt::print(stderr, "verified by {}\n", result->verified); }
    if (!arguments.has("--insert")) { fmt::print("{}{}", *text, selection.hole ? "\n" : ""); }
  }
  if (arguments.has("--insert")) {
    auto content = read_file(path);
    if (!content.ok()) {
      reporter.report(content.diagnostics(), selection.file.get());
      return reporter.status();
    }
    if (selection.hole) {
      auto [begin, end] = selection.hole->statement;
      std::string statement = content->size() >= end ? content->substr(begin, end - begin) : std::string();
      if (statement != "..." && (!statement.starts_with(form.schedule) || statement.find("tune") == std::string::npos)) { return failed(fmt::format("{} was changed meanwhile; nothing was written to it", path)); }
      Status written = write_file(path, content->substr(0, begin) + indented_as(*content, begin, *text) + content->substr(end));
      if (!written.ok()) {
        reporter.report(written.diagnostics(), selection.file.get());
        return reporter.status();
      }
      if (!arguments.json()) { fmt::print(stderr, "`{}` of `{}` filled in {}\n", statement == "..." ? statement : form.schedule + ".tune()", selection.schedule, path); }
      return exit_done;
    }
    Status written = write_file(path, with_schedule(std::move(*content), *text, path.ends_with(".py")));
    if (!written.ok()) {
      reporter.report(written.diagnostics(), selection.file.get());
      return reporter.status();
    }
    if (!arguments.json()) { fmt::print(stderr, "schedule `{}` written to {}\n", form.name, path); }
  }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
