// Worker processes and the requests to them: see pool.h.
#include "tune/measure/pool.h"

#include "support/codes.h"
#include "support/text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace loopsmith::tune {

struct WorkerPool::Worker {
  std::optional<Process> process;
  std::set<uint64_t> holds;   // candidates that this worker has built
};

namespace {

// The time between two calls of `stop` while waiting.
constexpr std::chrono::milliseconds patience(20);

// A limit grows to at most this many times its length while the worker waits for a processor.
constexpr double most_growth = 8;

auto seconds(double s) -> Clock::duration { return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s)); }

/// The time that the main thread of a process has been ready to run without a processor, since it started. 0 where the system does not count it.
auto waited_for_processor(int pid) -> Clock::duration {
  unsigned long long ran = 0, waited = 0;
#ifdef __linux__
  const std::string path = "/proc/" + std::to_string(pid) + "/schedstat";
  if (std::FILE* file = std::fopen(path.c_str(), "re")) {
    if (std::fscanf(file, "%llu %llu", &ran, &waited) != 2) { waited = 0; }
    (void)std::fclose(file);
  }
#endif
  return std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(static_cast<int64_t>(waited)));
}

/// The limit of one request. Time in which other programs keep the worker from running does not count: a build that takes 2 s on an idle machine is not ended on a loaded one.
class RequestLimit {
 public:
  RequestLimit(const Process& worker, double limit)
      : pid_(worker.pid()), limit_(seconds(limit)), begin_(Clock::now()), waited_before_(waited_for_processor(pid_)), deadline_(begin_ + limit_) {}

  /// The limit does not pass before this point in time.
  [[nodiscard]] auto deadline() const -> Deadline { return deadline_; }
  [[nodiscard]] auto has_passed() -> bool {
    if (Clock::now() < deadline_) { return false; }
    const Clock::duration waited = std::min(waited_for_processor(pid_) - waited_before_, seconds((most_growth - 1) * std::chrono::duration<double>(limit_).count()));
    deadline_ = begin_ + limit_ + std::max(waited, Clock::duration::zero());
    return Clock::now() >= deadline_;
  }

 private:
  int pid_;
  Clock::duration limit_;
  Deadline begin_;
  Clock::duration waited_before_;
  Deadline deadline_;
};

}  // namespace

WorkerPool::WorkerPool(PoolOptions options, WorkerTask task) : options_(std::move(options)), task_(std::move(task)) {
  for (int i = 0; i < std::max(1, options_.workers); ++i) { workers_.push_back(std::make_unique<Worker>()); }
}
WorkerPool::~WorkerPool() = default;

auto WorkerPool::start() -> Status {
  for (auto& worker : workers_) { LOOPSMITH_CHECK(start(*worker)); }
  return ok();
}

auto WorkerPool::start(Worker& worker) -> Status {
  worker.holds.clear();
  ProcessOptions options;
  options.argv = options_.program;
  WorkerTask task = task_;
  const bool is_first = &worker == workers_.front().get();
  task.opens_device = options_.opens_device && (is_first || !options_.measures_on_first);
  task.code_target = device_.code_target;
  if (options_.memory_limit) { options.limits.address_space = address_space_for(options_.memory_limit); }
  options.hides_environment = true;
  // The places of CUDA's libraries, and the choice among several devices.
  for (const char* name : {"CUDA_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"}) {
    if (const char* value = std::getenv(name); value != nullptr && options_.opens_device) { options.environment.emplace_back(name, value); }
  }
  options.sweeps = options_.sweeps;
  options.standard_error = Stream::Null;
  options.niceness = options_.niceness;
  LOOPSMITH_TRY(process, Process::start(options));
  worker.process = std::move(process);
  if (worker.process->write(to_line(task), in(seconds(30))) != IoStatus::Done) {
    return error(Code::WorkerFailed).arg("reason", lost(worker, false));
  }
  ReadResult line = worker.process->read_line(in(seconds(60)));
  TaskReply reply;
  if (line.status != IoStatus::Done || !parse_line(line.data, reply)) {
    return error(Code::WorkerFailed).arg("reason", lost(worker, line.status == IoStatus::TimedOut));
  }
  if (!reply.ok) { return error(Code::WorkerFailed).arg("reason", reply.why); }
  if (task.opens_device && is_first) { device_ = reply; }
  return ok();
}

// Removes a dead worker; returns a sentence about its end.
auto WorkerPool::lost(Worker& worker, bool timed_out) -> std::string {
  worker.holds.clear();
  if (!worker.process) { return "the worker does not run"; }
  std::string how;
  if (timed_out) {
    worker.process->kill();
    how = "killed at the time limit";
  } else {
    auto status = worker.process->wait(in(seconds(1)));
    how = status ? status->describe() : worker.process->kill().describe();
  }
  worker.process.reset();
  ++restarts_;
  return how;
}

auto WorkerPool::stopped() const -> bool { return options_.stop && options_.stop(); }

auto WorkerPool::build(const std::vector<Candidate>& candidates, Deadline begins_before) -> std::vector<BuildReply> {
  std::vector<size_t> all(workers_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return build_on(all, candidates, begins_before);
}

auto WorkerPool::build_on(const std::vector<size_t>& workers, const std::vector<Candidate>& candidates, Deadline begins_before) -> std::vector<BuildReply> {
  std::vector<BuildReply> replies(candidates.size());
  double limit = options_.build_limit;
  if (build_times_.size() >= 10) {
    std::vector<double> sorted = build_times_;
    std::sort(sorted.begin(), sorted.end());
    limit = std::min(limit, std::max(options_.least_build_limit, 3 * sorted[sorted.size() * 9 / 10]));
  }
  // A search with a budget ends on a loaded machine, too.
  const Deadline last = begins_before == Deadline::max() ? Deadline::max() : begins_before + seconds(limit);
  struct Running { size_t index; RequestLimit limit; };
  std::vector<std::optional<Running>> running(workers_.size());
  size_t next = 0;
  size_t busy = 0;
  auto fail = [&](size_t index, BuildOutcome outcome, std::string note) {
    replies[index] = {};
    replies[index].id = candidates[index].id;
    replies[index].outcome = outcome;
    replies[index].note = std::move(note);
  };
  auto begin = [&](size_t w) {
    while (next < candidates.size()) {
      size_t index = next++;
      if (stopped() || Clock::now() >= begins_before) { fail(index, BuildOutcome::Rejected, "stopped"); continue; }
      Worker& worker = *workers_[w];
      if (!worker.process) {
        Status started = start(worker);
        if (!started.ok()) { fail(index, BuildOutcome::Crashed, started.diagnostics().front().message()); continue; }
      }
      if (worker.process->write(build_line(candidates[index].id, candidates[index].trace, candidates[index].module), in(seconds(10))) != IoStatus::Done) {
        fail(index, BuildOutcome::Crashed, lost(worker, false));
        continue;
      }
      running[w] = Running{index, RequestLimit(*worker.process, limit)};
      ++busy;
      return;
    }
  };
  for (size_t w : workers) { begin(w); }
  // Reads from the workers in turn with short waits: a reply is one line, and there are only a few workers.
  while (busy > 0) {
    for (size_t w = 0; w < workers_.size(); ++w) {
      if (!running[w]) { continue; }
      Worker& worker = *workers_[w];
      ReadResult line = worker.process->read_line(std::min(running[w]->limit.deadline(), in(busy == 1 ? patience : std::chrono::milliseconds(1))));
      bool ends = line.status == IoStatus::TimedOut && stopped();
      if (line.status == IoStatus::TimedOut && !ends && !running[w]->limit.has_passed() && Clock::now() < last) { continue; }
      size_t index = running[w]->index;
      running[w].reset();
      --busy;
      if (ends) {
        (void)lost(worker, true);
        fail(index, BuildOutcome::Rejected, "stopped");
      } else if (line.status == IoStatus::Done && parse_line(line.data, replies[index]) && replies[index].id == candidates[index].id) {
        if (replies[index].outcome == BuildOutcome::Built) { worker.holds.insert(candidates[index].id); }
        // A build on one worker repeats one that is in a cache.
        if (workers.size() == workers_.size()) { build_times_.push_back(replies[index].seconds); }
      } else {
        bool late = line.status == IoStatus::TimedOut;
        fail(index, late ? BuildOutcome::TimedOut : BuildOutcome::Crashed, "while it was built: " + lost(worker, late));
      }
      begin(w);
    }
  }
  return replies;
}

auto WorkerPool::holder(const Candidate& candidate) -> Worker* {
  if (options_.measures_on_first) {
    Worker& first = *workers_.front();
    if (first.process && first.holds.contains(candidate.id)) { return &first; }
    return build_on({0}, {candidate}, Deadline::max()).front().outcome == BuildOutcome::Built ? &first : nullptr;
  }
  for (auto& worker : workers_) {
    if (worker->process && worker->holds.contains(candidate.id)) { return worker.get(); }
  }
  // The worker that had the candidate was lost: builds it again.
  if (build({candidate}).front().outcome != BuildOutcome::Built) { return nullptr; }
  for (auto& worker : workers_) {
    if (worker->holds.contains(candidate.id)) { return worker.get(); }
  }
  return nullptr;
}

auto WorkerPool::measure(const Candidate& candidate, double best_seconds, int repeat, double limit) -> MeasureReply {
  MeasureReply reply;
  if (limit <= 0) { limit = options_.measure_limit; }
  if (best_seconds > 0) { limit = std::min(limit, std::max(2.0, 50 * best_seconds)); }
  Worker* worker = holder(candidate);
  if (!worker) { return {candidate.id, Outcome::Crashed, "it could not be built again after its worker was lost", 0, 0, 0}; }
  if (worker->process->write(measure_line(candidate.id, best_seconds, repeat), in(seconds(10))) != IoStatus::Done) {
    return {candidate.id, Outcome::Crashed, lost(*worker, false), 0, 0, 0};
  }
  Deadline deadline = in(seconds(limit));
  for (;;) {
    ReadResult line = worker->process->read_line(std::min(deadline, in(patience)));
    if (line.status == IoStatus::Done && parse_line(line.data, reply) && reply.id == candidate.id) {
      if (reply.ends_worker) { (void)lost(*worker, true); }
      return reply;
    }
    if (line.status != IoStatus::TimedOut) { return {candidate.id, Outcome::Crashed, lost(*worker, false), 0, 0, 0}; }
    if (stopped()) { return {candidate.id, Outcome::Rejected, lost(*worker, true) + ": stopped", 0, 0, 0}; }
    if (Clock::now() >= deadline) { return {candidate.id, Outcome::TimedOut, lost(*worker, true), limit, 0, 0}; }
  }
}

auto WorkerPool::check(const Candidate& candidate, double limit, double interpreter_seconds) -> CheckReply {
  CheckReply reply;
  Worker* worker = holder(candidate);
  if (!worker) { return {candidate.id, false, "", "it could not be built again"}; }
  if (worker->process->write(check_line(candidate.id, interpreter_seconds), in(seconds(10))) != IoStatus::Done) {
    return {candidate.id, false, "", lost(*worker, false)};
  }
  RequestLimit time(*worker->process, limit);
  for (;;) {
    ReadResult line = worker->process->read_line(std::min(time.deadline(), in(patience)));
    if (line.status == IoStatus::Done && parse_line(line.data, reply) && reply.id == candidate.id) {
      if (reply.ends_worker) { (void)lost(*worker, true); }
      return reply;
    }
    bool is_stopped = line.status == IoStatus::TimedOut && stopped();
    if (line.status == IoStatus::TimedOut && !is_stopped && !time.has_passed()) { continue; }
    const bool is_late = line.status == IoStatus::TimedOut && !is_stopped;
    std::string how = lost(*worker, line.status == IoStatus::TimedOut);
    CheckReply out{candidate.id, false, "", is_stopped ? "stopped" : is_late ? "the comparison of its results takes longer than " + duration_text(limit) : "while it was verified: " + how};
    out.timed_out = is_late;
    return out;
  }
}

void WorkerPool::drop(uint64_t id) {
  for (auto& worker : workers_) {
    if (worker->process && worker->holds.erase(id)) { (void)worker->process->write(drop_line(id), in(seconds(1))); }
  }
}

}  // namespace loopsmith::tune
