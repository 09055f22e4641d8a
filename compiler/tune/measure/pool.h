// The session's side of measurement: a few long-lived worker programs, each with limits of time and memory. A worker
// that crashes or hangs costs the candidate it had, and is started anew; whatever else it had built is built again
// when it is asked for.
//
// Builds run on all workers at once. Measurements run one at a time, while no build runs, so that nothing of ours
// disturbs a kernel that uses every core.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/process.h"
#include "tune/measure/messages.h"

namespace loopsmith::tune {

struct PoolOptions {
  std::vector<std::string> program;        // how to start a worker: program and arguments
  int workers = 2;
  uint64_t memory_limit = 4ULL << 30;      // bytes of address space each; 0: none
  double build_limit = 10;                 // seconds at first; then 3 times the slowest tenth, at least 1
  double measure_limit = 10;               // seconds for one candidate, warm-up included; less where a best is known
  std::function<bool()> stop;              // asked often: true ends what is being built or measured, and its worker
  int niceness = 0;
};

struct Candidate {
  uint64_t id = 0;
  std::string trace;         // TVM's JSON
  std::string module = {};   // the scheduled program as script, in place of a trace; empty: the trace is replayed
};

class WorkerPool {
 public:
  WorkerPool(PoolOptions options, WorkerTask task);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  auto operator=(const WorkerPool&) -> WorkerPool& = delete;

  /// Starts the workers and hands them the task. Fails where the program cannot be started or refuses the task.
  [[nodiscard]] auto start() -> Status;

  /// Builds all, on all workers; one reply per candidate, in the order given. What `stop` leaves without a build is
  /// answered as Rejected with the note "stopped".
  [[nodiscard]] auto build(const std::vector<Candidate>& candidates) -> std::vector<BuildReply>;

  /// Measures one that was built. `best_seconds` (0: none) lets a slow one stop early: after a call that took twice as
  /// long, and in the middle of one that lasts fifty times as long. `limit` (0: that of the options) in seconds. One that
  /// was killed at its limit is TimedOut, `median_seconds` the limit: a call takes no less.
  [[nodiscard]] auto measure(const Candidate& candidate, double best_seconds, int repeat, double limit = 0) -> MeasureReply;

  /// Verifies one that was built; may take long: `limit` seconds. What `stop` ends is answered as not equal, with the note "stopped".
  [[nodiscard]] auto check(const Candidate& candidate, double limit) -> CheckReply;

  void drop(uint64_t id);

  /// Asks this from now on, in the place of the options' `stop`.
  void stop_when(std::function<bool()> stop) { options_.stop = std::move(stop); }

  /// How many workers were lost so far, by crash or time limit.
  [[nodiscard]] auto restarts() const -> int { return restarts_; }

 private:
  struct Worker;
  auto start(Worker& worker) -> Status;
  auto lost(Worker& worker, bool timed_out) -> std::string;
  [[nodiscard]] auto stopped() const -> bool;
  auto holder(const Candidate& candidate) -> Worker*;

  PoolOptions options_;
  WorkerTask task_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<double> build_times_;
  int restarts_ = 0;
};

}  // namespace loopsmith::tune
