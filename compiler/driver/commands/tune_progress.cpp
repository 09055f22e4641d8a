// Prints the progress of a search: see tune_progress.h.
#include "driver/commands/tune_progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>

#include "support/text.h"
#include "target/gpu.h"
#include "target/peaks.h"

namespace loopsmith::driver::commands {
namespace {

std::atomic<int> stops_asked{0};
void on_stop(int) { ++stops_asked; }

std::atomic<bool> is_paused{false};
void on_pause(int signal) { is_paused = signal == SIGUSR1; }

constexpr size_t bar_width = 24;

auto bar(const tune::Progress& p) -> std::string {
  double done = 0;
  if (p.trials_total > 0) { done = std::max(done, static_cast<double>(p.trials) / p.trials_total); }
  if (p.limit_seconds > 0) { done = std::max(done, p.elapsed_seconds / p.limit_seconds); }
  done = p.phase == "done" ? 1 : std::min(done, 1.0);
  auto filled = static_cast<size_t>(done * bar_width);
  std::string out;
  for (size_t i = 0; i < bar_width; ++i) { out += i < filled ? "█" : "░"; }
  return out;
}

/// The bar and the text in one row of the terminal, as a line that wraps cannot be written over: without the bar, and at last without the end of the text.
auto in_a_row(const std::string& bar, const std::string& text) -> std::string {
  winsize size{};
  const size_t columns = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  if (bar_width + 1 + text.size() < columns) { return bar + " " + text; }
  return text.size() < columns ? text : text.substr(0, columns - 1);
}

/// "7 s of 20 s, search 16 s": the whole budget, and the part of it for the search; and the time of a comparison beyond it.
auto time_text(const tune::Progress& p) -> std::string {
  std::string out = waiting_text(p.elapsed_seconds);
  if (p.limit_seconds <= 0 || p.phase == "done") { return out; }
  if (p.elapsed_seconds > p.limit_seconds) {
    return out + fmt::format(": {} more than asked for, as the comparison with the program takes longer", waiting_text(p.elapsed_seconds - p.limit_seconds));
  }
  bool is_search = p.phase != "confirming" && p.phase != "verifying";
  out += " of " + waiting_text(p.limit_seconds);
  return is_search && p.search_limit_seconds > 0 && p.search_limit_seconds < p.limit_seconds ? out + ", search " + waiting_text(p.search_limit_seconds) : out;
}

}  // namespace

void listen_to_signals(tune::SessionOptions& options) {
  options.paused = [] { return is_paused.load(); };
  options.stop = [] { return stops_asked.load() > 0; };
  options.abandon = [] { return stops_asked.load() > 1; };
  struct sigaction action {};
  action.sa_handler = on_stop;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = on_pause;
  ::sigaction(SIGUSR1, &action, nullptr);
  ::sigaction(SIGUSR2, &action, nullptr);
}

auto known_time(double seconds) -> std::string { return seconds > 0 ? duration_text(seconds) : "-"; }

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

auto floor_seconds(const Selection& selection) -> double {
  // The peaks are those of the processor.
  if (target::is_device_target(selection.target)) { return 0; }
  auto peaks = target::cached_peaks();
  return peaks ? tune::least_seconds(selection.before, selection.function, *peaks) : 0;
}

ProgressLine::ProgressLine(bool json, double floor) : json_(json), terminal_(!json && ::isatty(STDERR_FILENO)), floor_(floor) {}

void ProgressLine::show(const tune::Progress& p) {
  double gap = json_ || terminal_ ? 0.1 : 5;
  if (p.phase != "done" && p.phase == phase_ && p.elapsed_seconds - shown_ < gap) { return; }
  shown_ = p.elapsed_seconds;
  phase_ = p.phase;
  json_ ? show_json(p) : show_text(p);
}

void ProgressLine::show_json(const tune::Progress& p) {
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

void ProgressLine::show_text(const tune::Progress& p) const {
  std::string rate = p.best_seconds > 0 && p.flops > 0 ? fmt::format(", {:.1f} GFLOP/s", p.flops / p.best_seconds * 1e-9) : std::string();
  std::string text = fmt::format("{:<10} {}, best {}{}, {}", p.phase, count_text(p.trials, "trial"), known_time(p.best_seconds), rate, time_text(p));
  if (p.is_stopped && p.phase == "verifying") {
    text = fmt::format("stopped; comparing the best of {}, {}, with the program (Ctrl-C gives it up)", count_text(p.trials, "trial"), known_time(p.best_seconds));
  }
  if (!terminal_) {
    fmt::print(stderr, "tune: {}\n", text);
    return;
  }
  fmt::print(stderr, "\r\x1b[K{}{}", in_a_row(bar(p), text), p.phase == "done" ? "\n" : "");
  std::fflush(stderr);
}

}  // namespace loopsmith::driver::commands
