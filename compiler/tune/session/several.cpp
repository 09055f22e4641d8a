// The allotment of trials among programs: see several.h.
#include "tune/session/several.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "support/text.h"

namespace loopsmith::tune {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int slice = 16;                // trials
constexpr double noticeable = 0.005;     // a smaller gain is noise
constexpr int most_flat_slices = 3;      // without a noticeable gain; then the curve is flat
constexpr double near_roof = 1.05;
// The share of the time that is reserved for measuring the best schedule of each program again, and for comparing its results.
constexpr double comparison_share = 0.3;
// The gain that is expected of a slice, as a share of the distance to the roof; halved with each flat slice. Without a roof half of the time is the roof.
constexpr double usual_share = 0.25, unknown_roof = 0.5;

auto relative_gain(const TaskCurve& curve) -> double {
  if (curve.best_seconds <= 0) { return 1; }
  const double roof = curve.roof_seconds > 0 ? curve.roof_seconds : unknown_roof * curve.best_seconds;
  const double distance = std::max(0.0, 1 - roof / curve.best_seconds);
  return std::max(curve.last_gain, usual_share * distance) * std::pow(0.5, curve.flat_slices);
}

struct Running {
  std::optional<SteppedSession> session;
  TaskCurve curve;
  std::vector<double> best_after_slices;
  std::optional<TaskEnd> end;
  std::string why;
};

/// Counts the result of a slice.
void observe(Running& task, double before, bool is_exhausted, const TaskScheduler& scheduler) {
  TaskCurve& curve = task.curve;
  curve.best_seconds = task.session->progress().best_seconds;
  if (curve.first_seconds == 0) { curve.first_seconds = curve.best_seconds; }
  curve.last_gain = before > 0 && curve.best_seconds > 0 ? 1 - curve.best_seconds / before : 0;
  const bool is_gain = (before == 0 && curve.best_seconds > 0) || curve.last_gain > noticeable;
  curve.flat_slices = is_gain ? 0 : curve.flat_slices + 1;
  task.best_after_slices.push_back(curve.best_seconds);
  if (is_exhausted) { task.end = TaskEnd::Exhausted; }
  if (task.end || scheduler.kind != TaskScheduler::Kind::Gain) { return; }
  if (curve.best_seconds > 0 && curve.best_seconds <= near_roof * curve.roof_seconds) { task.end = TaskEnd::Roof; }
  else if (curve.flat_slices >= most_flat_slices) { task.end = TaskEnd::Flat; }
}

void fail(Running& task, const Diagnostics& diagnostics) {
  task.end = TaskEnd::Failed;
  task.why = diagnostics.front().message();
}

/// The claim of a task to the next slice.
auto claim_of(const Running& task, const TaskScheduler& scheduler) -> double {
  switch (scheduler.kind) {
    case TaskScheduler::Kind::Gradient: return gradient_of(task.best_after_slices, task.curve.weight, scheduler);
    case TaskScheduler::Kind::RoundRobin: return 1 / (1 + static_cast<double>(task.best_after_slices.size()));
    case TaskScheduler::Kind::Gain:
    case TaskScheduler::Kind::Given: break;
  }
  return expected_gain(task.curve);
}

/// The task that the next slice goes to: one that has had none, else that with the largest claim. None: all have ended.
auto next_task(const std::vector<Running>& tasks, const TaskScheduler& scheduler) -> std::optional<size_t> {
  std::optional<size_t> out;
  double largest = -1;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].end) { continue; }
    if (!tasks[i].session) { return i; }
    const double claim = claim_of(tasks[i], scheduler);
    if (claim > largest) {
      largest = claim;
      out = i;
    }
  }
  return out;
}

/// The task that the caller's scheduler chooses; none: it ends the search. If the scheduler fails, Gain takes its place.
auto chosen_task(const std::vector<TuningTask>& tasks, const std::vector<Running>& running, TaskScheduler& scheduler) -> std::optional<size_t> {
  static const std::vector<double> no_trials;
  std::vector<TaskView> views;
  bool has_task = false;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Progress* progress = running[i].session ? &running[i].session->progress() : nullptr;
    views.push_back({&tasks[i], progress ? &progress->trial_seconds : &no_trials, progress ? progress->flops : 0, running[i].end.has_value()});
    has_task = has_task || !running[i].end;
  }
  if (!has_task) { return std::nullopt; }
  const std::optional<int64_t> number = scheduler.choose(views);
  const bool is_task = number && *number >= 0 && *number < std::ssize(tasks) && !running[static_cast<size_t>(*number)].end;
  if (is_task) { return static_cast<size_t>(*number); }
  if (number && *number == -1) { return std::nullopt; }
  scheduler = {};
  return next_task(running, scheduler);
}

}  // namespace

auto text_of(TaskEnd end) -> const char* {
  switch (end) {
    case TaskEnd::Roof: return "at the roof";
    case TaskEnd::Flat: return "flat";
    case TaskEnd::Exhausted: return "space exhausted";
    case TaskEnd::Failed: return "failed";
    default: return "budget";
  }
}

auto expected_gain(const TaskCurve& curve) -> double {
  // A task without a time comes first.
  return curve.best_seconds > 0 ? curve.weight * curve.best_seconds * relative_gain(curve) : 1e9 * curve.weight;
}

auto gradient_of(const std::vector<double>& best_after_slices, double weight, const TaskScheduler& scheduler) -> double {
  const size_t count = best_after_slices.size();
  // A task without a time comes first.
  if (count == 0 || best_after_slices.back() <= 0) { return 1e9 * weight; }
  const double best = best_after_slices.back();
  const auto window = static_cast<size_t>(scheduler.window_size);
  const double before = count > window ? best_after_slices[count - 1 - window] : 0;
  const double recent = before > 0 ? (before - best) / static_cast<double>(window) : best;
  return weight * (scheduler.alpha * recent + (1 - scheduler.alpha) * best / static_cast<double>(count));
}

auto read_scheduler(std::string_view text, std::string& problem) -> std::optional<TaskScheduler> {
  const size_t open = std::min(text.find('('), text.size());
  const std::string_view name = text.substr(0, open);
  TaskScheduler out;
  if (name == "gradient") { out.kind = TaskScheduler::Kind::Gradient; }
  else if (name == "round-robin") { out.kind = TaskScheduler::Kind::RoundRobin; }
  else if (name != "gain") {
    problem = fmt::format("the task schedulers are gain, gradient and round-robin, not `{}`", name);
    return std::nullopt;
  }
  std::vector<SearchNumber> known;
  if (name == "gradient") { known = {{"alpha", 0.2, 0, 1}, {"window_size", 3, 1, 1000, true}}; }
  for (const auto& [parameter, value] : read_numbers(text.substr(open), name, known, problem)) {
    if (parameter == "alpha") { out.alpha = value; } else { out.window_size = static_cast<int>(value); }
  }
  return problem.empty() ? std::optional(out) : std::nullopt;
}

auto tune_several(const std::vector<TuningTask>& tasks, const SessionOptions& options, const std::function<void(size_t, const Progress&)>& on_task, const TaskScheduler& asked_scheduler)
    -> std::vector<TaskResult> {
  TaskScheduler scheduler = asked_scheduler;
  const auto start = SteadyClock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(SteadyClock::now() - start).count(); };
  auto is_stopped = [&] { return options.stop && options.stop(); };
  const double search_limit = options.seconds > 0 ? options.seconds * (1 - comparison_share) : 0;
  auto is_over = [&] { return is_stopped() || (search_limit > 0 && elapsed() >= search_limit); };
  std::vector<Running> running(tasks.size());
  int left = options.trials;
  while (!is_over() && (options.trials == 0 || left > 0)) {
    const bool is_given = scheduler.kind == TaskScheduler::Kind::Given;
    auto at = is_given ? chosen_task(tasks, running, scheduler) : next_task(running, scheduler);
    if (!at) { break; }
    Running& task = running[*at];
    if (!task.session) {
      SessionOptions own = options;
      own.trials = 0;
      own.seconds = 0;
      own.on_progress = [&, number = *at](const Progress& progress) { if (on_task) { on_task(number, progress); } };
      own.space = tasks[*at].space;
      task.curve.roof_seconds = tasks[*at].roof_seconds;
      task.curve.weight = tasks[*at].weight;
      task.session.emplace(tasks[*at].module, tasks[*at].function, tasks[*at].target, tasks[*at].label, own);
      if (Status started = task.session->start(); !started.ok()) {
        fail(task, started.diagnostics());
        continue;
      }
    }
    const int before = task.session->progress().trials;
    const double best_before = task.session->progress().best_seconds;
    // A small budget is shared: every task gets a first slice, unless the scheduler decides.
    const auto unstarted = static_cast<int>(std::count_if(running.begin(), running.end(), [](const Running& one) { return !one.session && !one.end; }));
    const int share = before == 0 && !is_given ? std::max(1, left / (1 + unstarted)) : left;
    const int most = is_given && options.batch > 0 ? static_cast<int>(options.batch) : slice;
    auto more = task.session->search_until(before + (options.trials > 0 ? std::min({most, left, share}) : most), search_limit > 0 ? std::max(0.01, search_limit - elapsed()) : 0);
    if (!more.ok()) {
      fail(task, more.diagnostics());
      continue;
    }
    left -= task.session->progress().trials - before;
    if (!is_over()) { observe(task, best_before, !*more, scheduler); }
  }
  std::vector<TaskResult> out(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    Running& task = running[i];
    out[i].end = task.end.value_or(TaskEnd::Budget);
    out[i].why = task.why;
    out[i].roof_seconds = tasks[i].roof_seconds;
    if (!task.session || out[i].end == TaskEnd::Failed) { continue; }
    out[i].trials = task.session->progress().trials;
    const double rest = options.seconds > 0 ? std::max(1.0, (options.seconds - elapsed()) / static_cast<double>(tasks.size() - i)) : 0;
    auto result = task.session->finish(rest);
    if (!result.ok()) {
      out[i].end = TaskEnd::Failed;
      out[i].why = result.diagnostics().front().message();
      continue;
    }
    out[i].result = std::move(*result);
    out[i].gain_left = out[i].end == TaskEnd::Budget ? relative_gain(task.curve) : 0;
    // Its workers are not needed any more.
    task.session.reset();
  }
  return out;
}

auto table_of(const std::vector<TuningTask>& tasks, const std::vector<TaskResult>& results) -> std::string {
  size_t width = 7;
  for (const TuningTask& task : tasks) { width = std::max(width, task.label.size()); }
  std::string text = fmt::format("{:<{}}  {:>6}  {:>10}  {:>10}  {:>5}  {:>9}  {}\n", "program", width, "trials", "best", "as written", "roof", "gain left", "ended by");
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskResult& task = results[i];
    const double best = task.result.found ? task.result.best_seconds : task.result.plain_seconds;
    const std::string share = best > 0 && task.roof_seconds > 0 ? fmt::format("{:.0f}%", 100 * task.roof_seconds / best) : "-";
    text += fmt::format("{:<{}}  {:>6}  {:>10}  {:>10}  {:>5}  {:>9}  {}{}\n", tasks[i].label, width, task.trials, best > 0 ? duration_text(best) : "-",
                        task.result.plain_seconds > 0 ? duration_text(task.result.plain_seconds) : "-", share, fmt::format("{:.0f}%", task.gain_left * 100), text_of(task.end),
                        task.why.empty() ? task.result.found || task.trials == 0 ? "" : ": no schedule is faster than the program as written" : ": " + task.why);
  }
  return text;
}

}  // namespace loopsmith::tune
