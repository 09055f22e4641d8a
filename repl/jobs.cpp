// Implements background searches of a session: see jobs.h.
#include "repl/jobs.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "repl/commands.h"
#include "support/process.h"
#include "support/text.h"

namespace loopsmith::repl {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

/// A job that prints nothing is checked this often.
constexpr auto turn = 50ms;

auto text_in(const Json& json, const char* name) -> std::string {
  auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}
auto number_in(const Json& json, const char* name) -> double {
  auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

auto best_text(int trials, double seconds, double plain_seconds, const std::string& verified) -> std::string {
  std::string text = fmt::format("best of {}: {}", count_text(trials, "trial"), duration_text(seconds));
  if (plain_seconds > 0) { text += ", as written " + duration_text(plain_seconds); }
  if (!verified.empty()) { text += "; verified: " + verified; }
  return text;
}

}  // namespace

struct BackgroundJobs::Job {
  size_t number = 0;
  std::string program_name;
  IRModule program;                  // only the session's thread uses it
  bool is_reported = false;          // its end was reported
  bool compares = false;             // it is the comparison of a result, not a search
  std::thread reader;
  std::atomic<bool> wants_stop = false;
  std::atomic<bool> wants_end = false;

  mutable std::mutex mutex;          // protects the members below
  State state = State::Running;
  std::string progress = "starting";
  std::string trace;
  double seconds = 0;

  [[nodiscard]] auto view() const -> View {
    std::lock_guard lock(mutex);
    return {number, program_name, state, progress, compares};
  }
  void read(Process process, std::string input);
  void compare(tune::Comparison& comparison);
  void note(const std::string& line);
};

void BackgroundJobs::Job::note(const std::string& line) {
  Json event = Json::parse(line, nullptr, false);
  if (!event.is_object()) { return; }
  std::string kind = text_in(event, "event");
  std::lock_guard lock(mutex);
  if (kind == "progress") {
    progress = count_text(static_cast<int64_t>(number_in(event, "trial")), "trial");
    if (double best = number_in(event, "best_seconds"); best > 0) { progress += ", best " + duration_text(best); }
    progress += ", " + waiting_text(number_in(event, "elapsed"));
  } else if (kind == "done") {
    trace = text_in(event, "trace");
    seconds = number_in(event, "best_seconds");
    progress = best_text(static_cast<int>(number_in(event, "trials")), seconds, number_in(event, "plain_seconds"), text_in(event, "verified"));
    if (auto ranked = event.find("ranked"); ranked != event.end() && ranked->is_boolean() && ranked->get<bool>()) { progress += "; estimated, since no device measured"; }
  } else if (std::string why = text_in(event, "message"); !why.empty()) {
    progress = why;
  }
}

// Runs in the thread that reads the events of a search.
void BackgroundJobs::Job::read(Process process, std::string input) {
  (void)process.write(input, in(10s));
  process.close_input();
  bool is_asked = false;
  while (!wants_end) {
    if (wants_stop && !std::exchange(is_asked, true)) { process.send_signal(SIGINT); }
    ReadResult line = process.read_line(in(turn));
    if (line.status == IoStatus::Done) { note(line.data); }
    if (line.status == IoStatus::Closed) { break; }
  }
  ExitStatus status = wants_end ? process.kill() : process.wait(in(5s)).value_or(ExitStatus{.signal = SIGKILL});
  std::lock_guard lock(mutex);
  state = trace.empty() ? State::Failed : State::Done;
  if (trace.empty() && !status.succeeded() && status.signal != 0) { progress = "the search " + status.describe(); }
  if (trace.empty() && status.succeeded()) { progress = "stopped before it had a result"; }
}

// Runs in the thread that compares a result.
void BackgroundJobs::Job::compare(tune::Comparison& comparison) {
  auto result = comparison.finish([this] { return wants_stop || wants_end; });
  std::lock_guard lock(mutex);
  state = State::Failed;
  if (!result.ok()) {
    progress = result.diagnostics().front().message();
  } else if (result->abandoned) {
    progress = "not compared with the program";
  } else if (!result->found) {
    progress = "none of the schedules found keeps the results of the program";
  } else {
    state = State::Done;
    trace = result->trace;
    seconds = result->best_seconds;
    progress = best_text(result->progress.trials, seconds, result->plain_seconds, result->verified);
  }
}

BackgroundJobs::BackgroundJobs() = default;
BackgroundJobs::~BackgroundJobs() {
  for (const auto& job : jobs_) { job->wants_end = true; }
  for (const auto& job : jobs_) { job->reader.join(); }
}

auto BackgroundJobs::find(size_t number) const -> Job* { return number >= 1 && number <= jobs_.size() ? jobs_[number - 1].get() : nullptr; }

auto BackgroundJobs::start(const IRModule& program, const std::string& name, const std::string& function, const std::string& text, const std::vector<std::string>& arguments)
    -> std::pair<std::optional<size_t>, std::string> {
  ProcessOptions options{.argv = {current_program(), "tune", "-", "--json", "--function", function}, .standard_error = Stream::Null, .niceness = 15};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  auto process = Process::start(options);
  if (!process.ok()) { return {std::nullopt, process.diagnostics().front().message()}; }
  auto job = std::make_unique<Job>();
  job->number = jobs_.size() + 1;
  job->program_name = name;
  job->program = program;
  job->reader = std::thread([kept = job.get(), running = std::move(process).value(), text]() mutable { kept->read(std::move(running), std::move(text)); });
  jobs_.push_back(std::move(job));
  return {jobs_.size(), {}};
}

auto BackgroundJobs::compare(const IRModule& program, const std::string& name, std::unique_ptr<tune::Comparison> comparison) -> size_t {
  auto job = std::make_unique<Job>();
  job->number = jobs_.size() + 1;
  job->program_name = name;
  job->program = program;
  job->compares = true;
  job->progress = "comparing its best, " + duration_text(comparison->best_seconds()) + ", with the program";
  job->reader = std::thread([kept = job.get(), found = std::move(comparison)]() { kept->compare(*found); });
  jobs_.push_back(std::move(job));
  return jobs_.size();
}

auto BackgroundJobs::all() const -> std::vector<View> {
  std::vector<View> out;
  for (const auto& job : jobs_) { out.push_back(job->view()); }
  return out;
}

auto BackgroundJobs::stop(size_t number) -> bool {
  Job* job = find(number);
  if (job == nullptr) { return false; }
  std::lock_guard lock(job->mutex);
  if (job->state != State::Running) { return false; }
  job->state = State::Stopping;
  job->wants_stop = true;
  return true;
}

auto BackgroundJobs::wait(size_t number, bool (*is_enough)()) const -> bool {
  const Job* job = find(number);
  while (job != nullptr) {
    State state = job->view().state;
    if (state == State::Done || state == State::Failed) { return true; }
    if (is_enough != nullptr && is_enough()) { return false; }
    std::this_thread::sleep_for(turn);
  }
  return false;
}

auto BackgroundJobs::result(size_t number) const -> std::optional<Found> {
  const Job* job = find(number);
  if (job == nullptr) { return std::nullopt; }
  std::lock_guard lock(job->mutex);
  if (job->state != State::Done) { return std::nullopt; }
  return Found{job->program, job->trace, job->seconds};
}

auto BackgroundJobs::news() -> std::vector<View> {
  std::vector<View> out;
  for (const auto& job : jobs_) {
    View view = job->view();
    bool has_ended = view.state == State::Done || view.state == State::Failed;
    if (has_ended && !std::exchange(job->is_reported, true)) { out.push_back(std::move(view)); }
  }
  return out;
}

}  // namespace loopsmith::repl
