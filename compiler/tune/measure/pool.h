// The session's part of measurement: a few long-lived worker processes, each with limits of time and memory. A worker that crashes or hangs loses its
// current candidate and is restarted; its other candidates are built again when they are needed.
//
// Limits of builds and comparisons count the time in which a worker runs or waits for something other than a processor: on a loaded machine a build takes longer, and is not ended
// for that. Limits of measurements are plain time, since a measurement is a time.
//
// Builds run on all workers at once. Measurements run one at a time, while no build runs, so that a kernel that uses every core is not disturbed.
// For a device with a cache of compiled kernels, one worker measures all candidates, since each process that opens the device takes memory and time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/process.h"
#include "tune/measure/messages.h"

namespace loopsmith::tune {

struct PoolOptions {
  std::vector<std::string> program;        // the program and arguments of a worker
  int workers = 2;
  uint64_t memory_limit = 4ULL << 30;      // bytes of data each; 0: none
  double build_limit = 10;                 // seconds at first; then 3 times the slowest tenth, at least 1
  double measure_limit = 10;               // seconds for one candidate, including warm-up; less if a best time is known
  std::function<bool()> stop;              // called often; true: ends running builds and measurements together with their workers
  int niceness = 0;
  bool sweeps = false;                     // see ProcessOptions
  // For tasks of devices:
  bool opens_device = false;               // the first worker opens the device, and the others build for it
  bool measures_on_first = false;          // only the first worker opens the device; it builds the candidates of the other workers again
  double least_build_limit = 1;            // seconds: the least limit of a build
};

struct Candidate {
  uint64_t id = 0;
  std::string trace;         // TVM's JSON
  std::string module = {};   // the scheduled program as script, instead of a trace; empty: the trace is replayed
};

class WorkerPool {
 public:
  WorkerPool(PoolOptions options, WorkerTask task);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  auto operator=(const WorkerPool&) -> WorkerPool& = delete;

  /// Starts the workers and sends them the task. Fails if the program cannot be started or refuses the task.
  [[nodiscard]] auto start() -> Status;

  /// Builds candidates on all workers; one reply for each, in the same order. A candidate that was not built because of `stop` is Rejected with the note
  /// "stopped"; so is one whose build has not begun at `begins_before`.
  [[nodiscard]] auto build(const std::vector<Candidate>& candidates, Deadline begins_before = Deadline::max()) -> std::vector<BuildReply>;

  /// Measures a built candidate. `best_seconds` (0: none) stops a slow candidate early: after a call that takes twice as long, or in the middle of a call that
  /// takes fifty times as long. `limit` in seconds; 0: that of the options. A candidate that is killed at its limit is TimedOut, and `median_seconds`
  /// is the limit, a lower bound of its time.
  [[nodiscard]] auto measure(const Candidate& candidate, double best_seconds, int repeat, double limit = 0) -> MeasureReply;

  /// Verifies a built candidate; takes up to `limit` seconds, then the reply is not equal and `timed_out`. When `stop` ends it, the reply is not equal, with the note "stopped". If the interpreter would
  /// take longer than `interpreter_seconds` (0: no limit), an unoptimised build replaces it.
  [[nodiscard]] auto check(const Candidate& candidate, double limit, double interpreter_seconds = 0) -> CheckReply;

  void drop(uint64_t id);

  /// Replaces the `stop` of the options.
  void stop_when(std::function<bool()> stop) { options_.stop = std::move(stop); }

  /// The device of the task, as the first worker reports it.
  [[nodiscard]] auto device() const -> const TaskReply& { return device_; }

  /// The number of workers lost by a crash or a time limit.
  [[nodiscard]] auto restarts() const -> int { return restarts_; }

 private:
  struct Worker;
  auto start(Worker& worker) -> Status;
  auto build_on(const std::vector<size_t>& workers, const std::vector<Candidate>& candidates, Deadline begins_before) -> std::vector<BuildReply>;
  auto lost(Worker& worker, bool timed_out) -> std::string;
  [[nodiscard]] auto stopped() const -> bool;
  auto holder(const Candidate& candidate) -> Worker*;

  PoolOptions options_;
  WorkerTask task_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<double> build_times_;
  TaskReply device_;
  int restarts_ = 0;
};

}  // namespace loopsmith::tune
