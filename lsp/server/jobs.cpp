// Background jobs as the editor sees them: see jobs.h.
#include "lsp/server/jobs.h"

#include <fmt/format.h>

#include <cmath>

#include "lsp/jobs/wording.h"
#include "lsp/protocol/jobs.h"
#include "lsp/protocol/uri.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

using namespace std::chrono_literals;

/// The time that a stopped job has to end before it is killed; jobs run at low priority. A search with a result gets more time to begin its comparison,
/// since a kill would lose the result. The comparison has limits of its own.
constexpr auto stop_grace = 5s;
constexpr auto result_grace = 10s;
/// The least time between two progress messages; a progress bar needs no more.
constexpr auto report_gap = 200ms;
constexpr auto lens_gap = 500ms;
constexpr auto view_gap = 100ms;
constexpr auto keep_gap = 2s;
/// The time left is estimated after this many trials.
constexpr int64_t trials_for_estimate = 8;
/// Limits of an interpretation: statements and seconds.
constexpr int64_t interpreted_steps = 200'000'000;
constexpr double interpreted_seconds = 30;

/// The remaining seconds of a search, at least and at most, until its trials or its time are used up; none: not known.
auto time_left(double elapsed, std::optional<int64_t> trial, std::optional<int64_t> trials, std::optional<double> budget) -> std::optional<std::pair<double, double>> {
  std::optional<double> by_time = budget ? std::optional(std::max(*budget - elapsed, 0.0)) : std::nullopt;
  std::optional<double> by_trials;
  if (trial && trials && *trial >= trials_for_estimate && *trials > *trial) { by_trials = elapsed / static_cast<double>(*trial) * static_cast<double>(*trials - *trial); }
  if (!by_trials) { return by_time ? std::optional(std::pair(*by_time, *by_time)) : std::nullopt; }
  double least = *by_trials * 0.7, most = *by_trials * 1.3;
  if (by_time && *by_time <= least) { return std::pair(*by_time, *by_time); }
  if (by_time) { most = std::min(most, *by_time); }
  return std::pair(least, most);
}

/// Merges an event of the search into the news that the view has not received: trials are appended, other members replaced.
void note_news(Json& news, const Json& event) {
  for (const auto& [name, value] : event.items()) {
    if (name == "event") { continue; }
    if (name == "measured" && value.is_array() && news.is_object() && news.contains(name)) {
      for (const Json& one : value) { news[name].push_back(one); }
    } else {
      news[name] = value;
    }
  }
}

/// The causes of failed candidates without their traces: the view shows the command that reproduces one.
auto causes_for_view(const Json& causes) -> Json {
  Json out = Json::array();
  for (const Json& cause : causes) { out.push_back({{"outcome", string_in(cause, "outcome")}, {"message", string_in(cause, "message")}, {"count", int_in(cause, "count").value_or(0)}, {"reproduce", string_in(cause, "reproduce")}}); }
  return out;
}

/// "C float32 (64, 64), -1.2 to 3.4, mean 0.1"
auto result_text(const Json& row) -> std::string {
  std::string shape;
  const Json& extents = member(row, "shape");
  if (extents.is_array()) {
    for (const Json& extent : extents) { shape += (shape.empty() ? "" : ", ") + extent.dump(); }
  }
  std::string text = fmt::format("{} {} ({})", string_in(row, "name"), string_in(row, "dtype"), shape);
  auto least = number_in(row, "min"), most = number_in(row, "max"), mean = number_in(row, "mean");
  if (least && most && mean) { text += fmt::format(", {:.6g} to {:.6g}, mean {:.6g}", *least, *most, *mean); }
  if (auto odd = int_in(row, "not_finite")) { text += fmt::format(", {} not finite", *odd); }
  return text;
}

auto show_message(int type, const std::string& message) -> Json {
  return notification("window/showMessage", {{"type", type}, {"message", message}});
}

struct Words { const char* command; const char* title; const char* name; const char* done; const char* program; const char* doing; };
auto words(JobKind kind) -> const Words& {
  static constexpr Words tune{"tune", "Tuning", "tuning", "tuned", "tuner", "tuning"};
  static constexpr Words bench{"bench", "Timing", "timing", "timed", "measurement", "timing"};
  static constexpr Words verify{"verify", "Verifying", "verification", "verified", "comparison", "verifying"};
  static constexpr Words run{"run", "Running", "run", "run", "program", "running"};
  static constexpr Words interpret{"interpret", "Interpreting", "interpretation", "interpreted", "interpreter", "interpreting"};
  switch (kind) {
    case JobKind::Tune: return tune;
    case JobKind::Bench: return bench;
    case JobKind::Verify: return verify;
    case JobKind::Run: return run;
    case JobKind::Interpret: return interpret;
  }
  return tune;
}

}  // namespace

auto Jobs::token_of(const Job& job) -> std::string { return fmt::format("loopsmith-tune-{}", job.id); }

auto Jobs::start(JobRequest request) -> std::pair<std::optional<JobId>, std::string> {
  for (auto one = jobs_.begin(); one != jobs_.end();) {
    const Job& job = one->second;
    bool is_same = !job.ended && job.uri == request.uri && job.function == request.function;
    if (is_same && job.is_restored && request.kind == JobKind::Tune && job.schedule == request.schedule) {
      // Start the restored search from the beginning.
      Job old = job;
      one = jobs_.erase(one);
      old.ended = true;
      old.state = State::Failed;
      kept_.forget(old.uri, old.function, old.schedule);
      talk_.to_worker(for_worker(old));
      continue;
    }
    if (is_same && !job.is_restored) { return {std::nullopt, fmt::format("`{}` is being {} already", request.function, words(job.kind).done)}; }
    ++one;
  }
  Job job;
  job.id = next_++;
  job.uri = request.uri;
  job.function = request.function;
  job.version = request.version;
  job.kind = request.kind;
  job.schedule = request.schedule;
  job.other = request.other;
  job.block = request.block;
  job.budget = request.seconds;
  job.kept = {.uri = request.uri, .function = request.function, .schedule = request.schedule, .target = request.target, .search = request.search, .space = request.space, .trials = request.trials, .seconds = request.seconds, .progress = {}, .sizes = request.sizes};
  if (auto failure = launch(job, request.text)) { return {std::nullopt, *failure}; }
  JobId id = job.id;
  Job& kept = jobs_.emplace(id, std::move(job)).first->second;
  talk_.to_worker(for_worker(kept));
  keep(kept, true);
  show_progress(id);
  return {id, {}};
}

/// Starts the job's process.
auto Jobs::launch(Job& job, const std::string& text) -> std::optional<std::string> {
  job.last_sent = host_.now();
  std::vector<std::string> arguments = {words(job.kind).command, "-", "--json"};
  for (const std::string& schedule : {job.schedule, job.other}) {
    if (!schedule.empty()) { arguments.insert(arguments.end(), {"--with", schedule}); }
  }
  if (!job.other.empty()) { arguments.emplace_back("--no-plain"); }
  if (!job.block.empty()) { arguments.insert(arguments.end(), {"--block", job.block}); }
  for (const auto& [name, size] : job.kept.sizes) {
    arguments.insert(arguments.end(), {"--arg", fmt::format("{}={}", name, size)});
    job.sizes[name] = size;
  }
  if (!job.function.empty()) { arguments.insert(arguments.end(), {"--function", job.function}); }
  if (!job.kept.target.empty()) { arguments.insert(arguments.end(), {"--target", job.kept.target}); }
  // The interpreter is about a thousand times slower than compiled code; a program beyond these limits ends with an error.
  if (job.kind == JobKind::Interpret) { arguments.insert(arguments.end(), {"--steps", std::to_string(interpreted_steps), "--time", fmt::format("{}", interpreted_seconds)}); }
  if (job.kind == JobKind::Tune && !job.kept.search.empty()) { arguments.insert(arguments.end(), {"--search", job.kept.search}); }
  // A schedule is its own space.
  if (job.kind == JobKind::Tune && job.schedule.empty() && !job.kept.space.empty()) { arguments.insert(arguments.end(), {"--space", job.kept.space}); }
  if (job.kept.trials) { arguments.insert(arguments.end(), {"--trials", std::to_string(*job.kept.trials)}); }
  if (job.budget) { arguments.insert(arguments.end(), {"--time", fmt::format("{}", *job.budget)}); }
  // A text without a file has no folder to import from.
  if (job.uri.starts_with("file:")) { arguments.insert(arguments.end(), {"--stdin-name", path_of(job.uri)}); }
  for (const std::string& folder : folders_) { arguments.insert(arguments.end(), {"--import-root", path_of(folder)}); }
  return host_.start_job(job.id, arguments, text);
}

void Jobs::show_progress(JobId id) {
  if (!shows_progress_) { return; }
  std::string token = token_of(jobs_.at(id));
  talk_.ask_client("window/workDoneProgress/create", {{"token", token}}, [this, id, token](const Json& response) {
    auto found = jobs_.find(id);
    if (found == jobs_.end() || found->second.ended || response.contains("error")) { return; }
    Job& begun = found->second;
    begun.has_progress = true;
    Json value = {{"kind", "begin"}, {"title", fmt::format("{} {}", words(begun.kind).title, begun.schedule.empty() ? begun.function : begun.schedule)}, {"cancellable", true}, {"message", progress_text(facts_of(begun))}};
    // Some editors show a percentage later only if the first message has one. A search always has a limit.
    if (begun.percentage || begun.kind == JobKind::Tune) { value["percentage"] = begun.percentage.value_or(0); }
    talk_.to_client(notification("$/progress", {{"token", token}, {"value", std::move(value)}}));
  });
}

/// Stores the facts that a later session needs to continue the search, at most once per `keep_gap` unless `now`.
void Jobs::keep(Job& job, bool now) {
  if (job.kind != JobKind::Tune || job.ended || (!now && host_.now() - job.last_kept < keep_gap)) { return; }
  job.last_kept = host_.now();
  job.kept.progress = job.progress;
  job.kept.percentage = job.percentage.value_or(0);
  kept_.keep(job.kept);
}

void Jobs::restore(const std::string& uri, int64_t version) {
  for (KeptSearch& search : kept_.take(uri)) {
    Job job;
    job.id = next_++;
    job.uri = search.uri;
    job.function = search.function;
    job.schedule = search.schedule;
    job.version = version;
    job.state = State::Paused;
    job.is_restored = true;
    job.progress = search.progress;
    job.percentage = search.percentage;
    job.budget = search.seconds;
    job.kept = std::move(search);
    JobId id = job.id;
    Job& kept = jobs_.emplace(id, std::move(job)).first->second;
    talk_.to_worker(for_worker(kept));
  }
}

auto Jobs::begin_again(JobId id, int64_t version, const std::string& text) -> std::string {
  Job& job = jobs_.at(id);
  job.version = version;
  job.budget = job.kept.seconds;
  if (auto failure = launch(job, text)) { return *failure; }
  job.is_restored = false;
  job.state = State::Running;
  // The best of the earlier session is reported once this session has read its record.
  job.progress = {};
  talk_.to_worker(for_worker(job));
  show_progress(id);
  return {};
}

auto Jobs::is_restored(JobId id) const -> bool {
  auto found = jobs_.find(id);
  return found != jobs_.end() && !found->second.ended && found->second.is_restored;
}

auto Jobs::uri_of(JobId id) const -> std::string {
  auto found = jobs_.find(id);
  return found != jobs_.end() ? found->second.uri : std::string();
}

auto Jobs::summary() const -> std::string {
  std::string out;
  for (const auto& [id, job] : jobs_) {
    if (job.ended) { continue; }
    std::string what = job.schedule.empty() ? job.function : job.schedule;
    out += (out.empty() ? "" : "; ") + fmt::format("{} {}", words(job.kind).doing, what);
    if (job.kind == JobKind::Tune) { out += fmt::format("{}: {}", job.state == State::Paused ? " paused" : "", progress_text(facts_of(job))); }
  }
  return out;
}

auto Jobs::stop(JobId id) -> bool {
  auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.ended) { return false; }
  Job& job = found->second;
  if (job.is_restored) {
    // No process runs. The measurements are in the database.
    job.ended = true;
    job.state = State::Stopping;
    finish(job);
    return true;
  }
  if (job.state == State::Running || job.state == State::Paused) {
    job.state = State::Stopping;
    job.kill_at = host_.now() + (job.progress.best_seconds ? result_grace : stop_grace);
    host_.signal_job(id, SIGINT);
    report(job, true);
    if (job.verifies) { compare(job); }
  } else if (job.state == State::Comparing) {
    job.state = State::Abandoned;
    job.kill_at = host_.now() + stop_grace;
    host_.signal_job(id, SIGINT);
  }
  return true;
}

auto Jobs::pause(JobId id) -> bool {
  auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.ended || found->second.kind != JobKind::Tune) { return false; }
  Job& job = found->second;
  if (job.state == State::Paused) { return true; }
  if (job.state != State::Running || job.verifies) { return false; }
  job.state = State::Paused;
  if (job.hears) { host_.signal_job(id, SIGUSR1); }
  job.last_sent = {};
  keep(job, true);
  report(job, true);
  tell_view(job, true);
  return true;
}

auto Jobs::resume(JobId id) -> bool {
  auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.ended || found->second.state != State::Paused || found->second.is_restored) { return false; }
  Job& job = found->second;
  job.state = State::Running;
  if (job.hears) { host_.signal_job(id, SIGUSR2); }
  job.last_sent = {};
  report(job, true);
  tell_view(job, true);
  return true;
}

auto Jobs::searching(const std::string& uri) const -> std::optional<JobId> {
  for (auto one = jobs_.rbegin(); one != jobs_.rend(); ++one) {
    const Job& job = one->second;
    if (job.kind == JobKind::Tune && !job.ended && (uri.empty() || job.uri == uri)) { return job.id; }
  }
  return std::nullopt;
}

/// Called when the stopped search no longer measures. Its best candidate is offered if the comparison succeeds.
void Jobs::compare(Job& job) {
  job.state = State::Comparing;
  job.kill_at = never();
  std::string outcome = fmt::format("{} of {} is stopped; {}", words(job.kind).name, job.function, comparing_text(job.progress.best_seconds));
  job.has_progress ? end_progress(job, outcome) : talk_.to_client(show_message(3, outcome));
  talk_.to_worker(for_worker(job));
  tell_view(job, true);
}

void Jobs::end_progress(Job& job, const std::string& message) {
  if (!std::exchange(job.has_progress, false)) { return; }
  talk_.to_client(notification("$/progress", {{"token", token_of(job)}, {"value", {{"kind", "end"}, {"message", message}}}}));
}

auto Jobs::stop_by_token(const Json& token) -> bool {
  for (const auto& [id, job] : jobs_) {
    if (token.is_string() && token.get<std::string>() == token_of(job)) { return stop(id); }
  }
  return false;
}

void Jobs::stop_all() {
  is_closing_ = true;
  for (auto& [id, job] : jobs_) {
    if (job.ended || job.is_restored) { continue; }
    keep(job, true);
    stop(id);
  }
  // Release the files at once, so that a new server can take the searches before all stopped jobs have ended.
  kept_.let_go();
}

void Jobs::on_line(JobId id, std::string_view line) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) { return; }
  Job& job = found->second;
  std::string text(line);
  std::string why;
  auto event = parse_json(text, why);
  if (!event) { return; }
  std::string kind = string_in(*event, "event");
  if (kind == "sizes") {
    const Json& chosen = member(*event, "sizes");
    if (chosen.is_object()) { job.sizes.update(chosen); }
    return;
  }
  if (job.kind == JobKind::Verify) {
    if (bool_in(*event, "compared")) {
      job.is_equal = bool_in(*event, "equal");
      job.how = string_in(*event, "how");
      job.extent = string_in(*event, "extent");
      if (!*job.is_equal) { job.failure = string_in(*event, "difference"); }
    }
    if (string_in(*event, "severity") == "error" && job.failure.empty()) { job.failure = string_in(*event, "message"); }
    return;
  }
  if (job.kind == JobKind::Run || job.kind == JobKind::Interpret) {
    if (event->contains("dtype")) { job.rows.push_back(*event); }
    if (string_in(*event, "severity") == "warning") { job.warnings.push_back(string_in(*event, "message")); }
    if (string_in(*event, "severity") == "error" && job.failure.empty()) { job.failure = string_in(*event, "message"); }
    return;
  }
  if (job.kind == JobKind::Bench) {
    if (auto seconds = number_in(*event, "seconds"); seconds && *seconds > 0) { job.rows.push_back(*event); }
    if (string_in(*event, "severity") == "error" && job.failure.empty()) { job.failure = string_in(*event, "message"); }
    return;
  }
  if (kind == "progress") {
    // The pause was requested before the job could receive signals.
    if (!std::exchange(job.hears, true) && job.state == State::Paused) { host_.signal_job(id, SIGUSR1); }
    note_news(job.news, *event);
    if (auto floor = number_in(*event, "floor_seconds"); floor && *floor > 0) { job.progress.floor_seconds = floor; }
    if (auto best = number_in(*event, "best_seconds"); best && *best > 0) { job.progress.best_seconds = best; }
    bool verified_before = std::exchange(job.verifies, string_in(*event, "phase") == "verifying");
    if (job.verifies && job.state == State::Stopping) { return compare(job); }
    tell_view(job, false);
    auto trial = int_in(*event, "trial");
    auto trials = int_in(*event, "trials");
    auto elapsed = number_in(*event, "elapsed");
    if (job.state != State::Running && job.state != State::Paused) { return; }
    if (job.verifies) {
      // The job reached its end before it could pause.
      job.state = State::Running;
      return report(job, !verified_before);
    }
    // Show the progress towards the limit that will end the job first.
    std::optional<double> share;
    if (trial && trials && *trials > 0) { share = static_cast<double>(*trial) / static_cast<double>(*trials); }
    // The search reports its time limit if the command sets none.
    std::optional<double> limit = job.budget ? job.budget : number_in(*event, "limit");
    if (elapsed && limit && *limit > 0) { share = std::max(share.value_or(0), *elapsed / *limit); }
    if (share) { job.percentage = static_cast<int>(std::clamp(*share, 0.0, 1.0) * 100); }
    if (trial) {
      job.progress.trial = trial;
      job.progress.trials = trials && *trials > 0 ? trials : std::nullopt;
    }
    job.progress.elapsed = elapsed;
    job.progress.left = job.state == State::Running && elapsed ? time_left(*elapsed, trial, trials, limit) : std::nullopt;
    if (elapsed && job.budget) { job.kept.seconds = std::max(*job.budget - *elapsed, 1.0); }
    keep(job, false);
    report(job, false);
  } else if (kind == "done" || kind == "task") {
    // `task`: a search for chosen sizes, whose result is a variant of the program with its schedule.
    job.result = *event;
    if (auto best = number_in(*event, "best_seconds"); best && *best > 0) { job.progress.best_seconds = best; }
    job.causes = member(*event, "causes");
  } else if (kind == "error") {
    job.failure = string_in(*event, "message");
    job.causes = member(*event, "causes");
  }
}

void Jobs::on_end(JobId id, const ExitStatus& status, std::string_view errors) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) { return; }
  Job& job = found->second;
  job.ended = true;
  job.kill_at = never();
  bool is_measured = (job.kind == JobKind::Bench || job.kind == JobKind::Run || job.kind == JobKind::Interpret) && !job.rows.empty() && status.succeeded();
  if (is_measured || job.is_equal || !string_in(job.result, "schedule_text").empty()) {
    job.state = State::Done;
  } else if (job.state != State::Abandoned) {
    job.state = job.state == State::Stopping && job.failure.empty() && status.signal == 0 && status.code == 0 ? State::Stopping : State::Failed;
    if (job.failure.empty()) {
      std::string_view last = errors;
      while (!last.empty() && last.back() == '\n') { last.remove_suffix(1); }
      last = last.substr(last.rfind('\n') == std::string_view::npos ? 0 : last.rfind('\n') + 1);
      job.failure = last.empty() ? fmt::format("the {} {}", words(job.kind).program, status.describe()) : std::string(last.substr(0, 400));
    }
  }
  finish(job);
}

void Jobs::on_tick() {
  for (auto& [id, job] : jobs_) {
    if (!job.ended && job.kill_at != never() && host_.now() >= job.kill_at) {
      job.kill_at = never();
      host_.signal_job(id, SIGKILL);
    }
  }
}

void Jobs::report(Job& job, bool now) {
  // Lenses show the progress, twice a second.
  if (host_.now() - job.last_sent >= lens_gap) {
    job.last_sent = host_.now();
    talk_.to_worker(for_worker(job));
  }
  if (!job.has_progress || (!now && host_.now() - job.last_report < report_gap)) { return; }
  job.last_report = host_.now();
  Json value = {{"kind", "report"}, {"cancellable", job.state == State::Running || job.state == State::Paused}, {"message", (job.state == State::Paused ? "paused: " : "") + progress_text(facts_of(job))}};
  if (job.percentage) { value["percentage"] = *job.percentage; }
  talk_.to_client(notification("$/progress", {{"token", token_of(job)}, {"value", std::move(value)}}));
}

/// The message at the end of a job that has its result.
auto Jobs::text_of_result(const Job& job) -> EndText {
  EndText out;
  auto add_rows = [&] { for (const Json& row : job.rows) { out.message += (&row == &job.rows.front() ? " " : "; ") + result_text(row); } };
  std::string with_sizes;
  if (job.sizes.is_object()) {
    for (const auto& [name, value] : job.sizes.items()) { with_sizes += fmt::format("{}`{}` = {}", with_sizes.empty() ? ", with " : ", ", name, value.dump()); }
  }
  if (job.is_equal) {
    out.message = *job.is_equal ? fmt::format("{} keeps the results of {}{} ({})", job.schedule, job.function, with_sizes, job.how)
                                : fmt::format("{} does not keep the results of {}{}: {}", job.schedule, job.function, with_sizes, job.failure);
    out.type = *job.is_equal ? 3 : 1;
    return out;
  }
  if (job.kind == JobKind::Interpret) {
    out.message = fmt::format("{}{} interpreted on random inputs{}:", job.block.empty() ? std::string() : fmt::format("block {} of ", job.block), job.schedule.empty() ? job.function : job.schedule, with_sizes);
    add_rows();
    out.message += "; every access in bounds";
    if (!job.warnings.empty()) {
      out.message += fmt::format("; {}: {}", count_text(static_cast<int64_t>(job.warnings.size()), "warning"), job.warnings.front());
      out.type = 2;
    }
    return out;
  }
  if (job.kind == JobKind::Run) {
    out.message = fmt::format("{} ran on random inputs{}:", job.schedule.empty() ? job.function : job.schedule, with_sizes);
    add_rows();
    return out;
  }
  if (job.kind == JobKind::Bench && !job.other.empty()) {
    double first = number_in(job.rows.front(), "seconds").value_or(0), second = number_in(job.rows.back(), "seconds").value_or(0);
    out.message = fmt::format("{}: {}, {}: {}, measured in turns", job.schedule, duration_text(first), job.other, duration_text(second));
    out.message += string_in(job.rows.back(), "difference") == "none" || first <= 0 || second <= 0
                       ? "; the difference is within the noise"
                       : fmt::format("; {} is {:.2f} times as fast", first < second ? job.schedule : job.other, std::max(first, second) / std::min(first, second));
    return out;
  }
  if (job.kind == JobKind::Bench) {
    double seconds = number_in(job.rows.back(), "seconds").value_or(0);
    out.message = fmt::format("{}: {}", job.schedule.empty() ? job.function : job.schedule, duration_text(seconds));
    if (auto gflops = number_in(job.rows.back(), "gflops"); gflops && *gflops > 0) { out.message += fmt::format(", {:.4g} GFLOP/s", *gflops); }
    if (auto share = number_in(job.rows.back(), "roofline")) { out.message += ", " + roofline_text(*share, 1); }
    if (job.rows.size() > 1) { out.message += fmt::format(", {:.2f} times as fast as written", number_in(job.rows.front(), "seconds").value_or(0) / seconds); }
    out.message += with_sizes;
    return out;
  }
  out.message = job.schedule.empty() ? job.function : job.schedule;
  if (auto best = number_in(job.result, "best_seconds"); best && *best > 0) {
    const Json& ranked = member(job.result, "ranked");
    out.message += ": " + duration_text(*best) + (ranked.is_boolean() && ranked.get<bool>() ? " by an estimate, since no device measured" : "");
    if (auto plain = number_in(job.result, "plain_seconds"); plain && *plain > 0) { out.message += fmt::format(", {:.3g}x", *plain / *best); }
  } else {
    out.message += " is tuned";
  }
  out.message += with_sizes;
  if (const Json& verified = member(job.result, "verified"); verified.is_string()) { out.detail = fmt::format(" ({})", verified.get<std::string>()); }
  return out;
}

/// The message at the end of a job.
auto Jobs::text_of_end(const Job& job) -> EndText {
  switch (job.state) {
    case State::Done: return text_of_result(job);
    case State::Stopping:
      if (job.is_restored) { return {.message = fmt::format("{} of {} is given up; its measurements are kept", words(job.kind).name, job.function), .detail = {}}; }
      return {.message = fmt::format("{} of {} stopped before there was a result", words(job.kind).name, job.function), .detail = {}};
    case State::Abandoned: return {.message = fmt::format("the best of {} was not compared with the program and is not offered; its measurements are kept", job.function), .detail = {}};
    default: return {.message = fmt::format("{} of {} failed: {}", words(job.kind).name, job.function, job.failure), .detail = {}, .type = 1};
  }
}

void Jobs::finish(Job& job) {
  tell_view(job, true);
  // A search that ends because the editor closes is kept for the next session.
  if (job.kind == JobKind::Tune && !is_closing_) { kept_.forget(job.uri, job.function, job.schedule); }
  auto [message, detail, type] = text_of_end(job);
  end_progress(job, message + detail);
  if (job.state == State::Done && job.kind == JobKind::Tune) {
    const bool fills_hole = !string_in(member(job.result, "hole"), "state").empty();
    message += !fills_hole && !job.schedule.empty() ? "; the lens over the schedule writes it into the file"
               : !fills_hole                          ? "; the code action \"Insert best schedule\" writes it into the file"
                                                      : "; the code action \"Fill in the best steps\" writes them into the file";
  }
  // An editor that shows the trials of a search also offers its result.
  bool is_offered = shows_trials_ && job.state == State::Done && job.kind == JobKind::Tune && job.schedule.empty();
  if (!is_offered) { talk_.to_client(show_message(type, message)); }
  talk_.to_worker(for_worker(job));
}

/// Updates the editor's view of a search: new trials, ten times a second at most, and the end of the search.
void Jobs::tell_view(Job& job, bool now) {
  if (!shows_trials_ || job.kind != JobKind::Tune || (!now && host_.now() - job.last_news < view_gap)) { return; }
  job.last_news = host_.now();
  Json params = job.news.is_object() ? std::move(job.news) : Json::object();
  job.news = Json();
  params.update({{"job", job.id}, {"uri", job.uri}, {"function", job.function}});
  if (!job.schedule.empty()) { params["schedule"] = job.schedule; }
  auto name = [](State state) {
    switch (state) {
      case State::Running: return "running";
      case State::Paused: return "paused";
      case State::Stopping: return "stopping";
      case State::Comparing: return "comparing";
      case State::Done: return "done";
      case State::Abandoned:
      case State::Failed: break;
    }
    return "failed";
  };
  params["state"] = job.ended && job.state != State::Done ? "failed" : name(job.state);
  if (job.ended && !job.failure.empty()) { params["message"] = job.failure; }
  if (job.ended && job.state == State::Done) {
    params["best_seconds"] = job.progress.best_seconds.value_or(0);
    if (auto plain = number_in(job.result, "plain_seconds"); plain && *plain > 0) { params["plain_seconds"] = *plain; }
    params["verified"] = string_in(job.result, "verified");
    params["schedule_text"] = string_in(job.result, "schedule_text");
  }
  // A search without a result has causes, too.
  if (job.ended && job.causes.is_array()) { params["causes"] = causes_for_view(job.causes); }
  talk_.to_client(notification("loopsmith/tuning", std::move(params)));
}

auto Jobs::facts_of(const Job& job) -> JobFacts {
  auto phase = [&] {
    // The results of a run are shown as a message; nothing refers to the run afterwards.
    bool is_run = job.kind == JobKind::Run || job.kind == JobKind::Interpret;
    if (job.ended) { return job.state == State::Done && !is_run ? JobPhase::Done : JobPhase::Gone; }
    if (job.is_restored) { return JobPhase::Kept; }
    switch (job.state) {
      case State::Paused: return JobPhase::Paused;
      case State::Stopping: return JobPhase::Stopping;
      case State::Comparing:
      case State::Abandoned: return JobPhase::ComparingStopped;
      case State::Running:
      case State::Done:
      case State::Failed: break;
    }
    return job.verifies ? JobPhase::Comparing : JobPhase::Running;
  };
  JobFacts facts;
  facts.job = job.id;
  facts.kind = job.kind;
  facts.phase = phase();
  facts.uri = job.uri;
  facts.function = job.function;
  facts.version = job.version;
  facts.schedule = job.schedule;
  facts.other = job.other;
  facts.progress = job.progress;
  if (job.kind == JobKind::Verify && job.is_equal) {
    facts.is_equal = *job.is_equal;
    facts.extent = job.extent;
    if (!*job.is_equal) { facts.difference = job.failure; }
  }
  if (job.kind == JobKind::Bench && !job.rows.empty()) {
    // For kernels the program as written is not measured.
    if (job.schedule.empty() || job.rows.size() > 1) { facts.plain_seconds = number_in(job.rows.front(), "seconds").value_or(0); }
    facts.seconds = number_in(job.rows.back(), "seconds").value_or(0);
  }
  if (job.kind == JobKind::Tune && facts.is_done()) {
    facts.seconds = job.progress.best_seconds.value_or(0);
    if (job.progress.floor_seconds && job.progress.best_seconds) { facts.share = *job.progress.floor_seconds / *job.progress.best_seconds; }
    facts.hole_state = string_in(member(job.result, "hole"), "state");
    facts.schedule_text = string_in(job.result, "schedule_text");
  }
  return facts;
}

auto Jobs::for_worker(const Job& job) -> Json { return notification(job_method, to_json(facts_of(job))); }

auto Jobs::all_for_worker() const -> std::vector<Json> {
  std::vector<Json> all;
  for (const auto& [id, job] : jobs_) {
    if (facts_of(job).phase != JobPhase::Gone) { all.push_back(for_worker(job)); }
  }
  return all;
}

void Jobs::inserted(JobId id) {
  auto found = jobs_.find(id);
  if (found == jobs_.end()) { return; }
  found->second.state = State::Failed;
  talk_.to_worker(for_worker(found->second));
  jobs_.erase(found);
}

}  // namespace loopsmith::lsp
