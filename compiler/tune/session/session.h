// A tuning session for one function, one target and one budget: from the design space through search and measurement to the best schedule, which is
// verified before it is offered.
//
// Every measurement is stored in the database at once. A session that stops for any reason (budget, cancel, crash) loses nothing: when started again with the
// same seed, it makes the same proposals, finds their records, and continues from there. If it is stopped before it has proposed all of them again, it still
// uses the best of the program's records on this target and machine.
//
// For targets of devices (`cuda`, `opencl`) the first device of the target measures. Without one, candidates are built, estimated and ranked: the result is
// marked, and the database gets no record of it.
//
// Stopping takes only a moment, but comparing the results of the best candidate with the program may take minutes. `Progress::is_stopped` reports the stop before
// the comparison, which can be left to another thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"
#include "target/peaks.h"
#include "target/target.h"
#include "tune/cost/candidate_runner.h"
#include "tune/database/database.h"
#include "tune/search/search.h"
#include "tune/session/causes.h"
#include "tune/space/sketch.h"

namespace loopsmith::tune {

/// The trials of one sketch.
struct SketchTally {
  std::string name = {};
  std::vector<std::pair<std::string, size_t>> knobs = {};   // the name of each, and the number of its choices
  std::string closed = {};       // the reason why the search proposes no more of its points; empty: it may
  int proposed = 0;
  int measured = 0;
  int failed = 0;                // not legal, not built, crashed or wrong
  double best_seconds = 0;       // 0: none was measured
  // The last trial:
  std::string outcome = {};      // "measured", "stopped early", "not legal: loop-twice" and others; empty: there was none
  std::string note = {};         // the reason of a failure
  double seconds = 0;            // 0: unknown; of a trial that was stopped early, a lower bound
};

/// The seconds of the parts of a session.
struct Profile {
  double space = 0;              // making the sketches
  double search = 0;             // proposals, drafts and models
  double build = 0;
  double measure = 0;
  double compare = 0;            // the results of the best with those of the program
};

struct Progress {
  int trials = 0;                // finished trials, measured or found in the database
  int trials_total = 0;          // 0: limited by time only
  double elapsed_seconds = 0;
  double limit_seconds = 0;      // the whole budget, including comparisons; 0: limited by trials only
  double search_limit_seconds = 0;   // the part of the budget for the search; the rest is for measuring the best candidates again and comparing results
  double best_seconds = 0;       // 0: none yet
  double plain_seconds = 0;      // of the program as written; 0: not measured yet
  double flops = 0;              // of one call
  int from_database = 0;
  std::map<std::string, int> failures;   // the number of trials for each kind of failure
  std::string phase;             // "measuring", "ranking", "paused", "confirming", "verifying"
  std::vector<double> trial_seconds;     // for every trial, in order; 0: it has no time
  std::string best_python;       // the statements of the best candidate, as script
  bool is_stopped = false;       // `stop` ended the search: nothing more is measured
  std::vector<SketchTally> sketches;
  Profile profile;
};

struct SessionOptions {
  int trials = 0;                // 0: limited by time only
  double seconds = 60;           // for the search, the final measurements and the comparison of results together; 0: limited by trials only
  uint64_t seed = 0;
  std::string search = "guided"; // of search/search.h, with parameters: "evolutionary(population_size=128)"
  std::string model = "residual";   // of cost/model.h
  std::shared_ptr<CandidateModel> candidate_model = {};   // judges the proposals of the search; null: none does
  std::shared_ptr<CandidateRunner> runner = {};   // gives candidates their times in place of the workers, which still compare the results of the best; null: the workers do
  bool transfer = false;         // the fastest records of other programs with the same target are candidates, where they apply
  bool keep_order = false;       // only schedules that add in the order of the program: see space/order.h
  /// Makes the space; null: the rules of space/all.cpp do.
  std::function<Result<Sketches>(const SpaceContext&)> space;
  /// Asked once, behind `space`, whose sketches its points count from 0: see `make_preloaded`. Null: none is known.
  std::function<std::vector<KnownPoint>()> known_points;
  std::string database;          // path; ":memory:" keeps nothing
  std::vector<std::string> worker;   // program and arguments of a worker
  int workers = 0;               // 0: two; for CUDA as many as the machine has cores, at most 16
  double build_limit = 0;        // seconds of a build; 0: 10, and less where builds are short
  double measure_limit = 0;      // seconds of a measurement; 0: 10, and less beside a fast candidate
  /// The elements of each buffer parameter in measurements; an empty list, or none: random ones. Their times do not mix with others in the database.
  std::vector<std::vector<double>> arguments = {};
  size_t batch = 0;              // proposals between two lessons of the search; 0: the search decides
  bool verify = true;
  double verify_seconds = 120;   // the limit of the comparison. It may exceed the budget, and `Progress` shows this
  std::function<void(const Progress&)> on_progress;
  std::function<bool()> stop;    // called often; true: stops and keeps the best candidate
  std::function<bool()> paused;  // called often; true: ends the running measurement and pauses until it is false or `stop` is true. The budget's clock pauses
  std::function<bool()> abandon; // called often during the comparison; true: ends it without a result
  bool compare_later = false;    // after `stop`, leaves the comparison to the caller: `SessionResult::comparison`
};

class Comparison;

struct SessionResult {
  bool found = false;            // a candidate was measured, and verified if that is requested
  std::string trace;             // TVM's JSON
  std::string trace_python;      // lines of a schedule function's body
  std::string program;           // the text of the program that the trace schedules, where it is another one than that of the session; empty: that one
  std::string log_line;          // see `Sketch::log_line`
  double best_seconds = 0;
  double spread_seconds = 0;     // the largest deviation among the turns of the final comparison; without a final comparison, the median absolute deviation
  int timings = 0;               // the number of timings of which `best_seconds` is the median; each timing of a short kernel contains many runs
  double plain_seconds = 0;
  double flops = 0;
  std::string verified;          // the method of verification; empty: not verified
  bool is_unscheduled_best = false;   // no schedule is faster than the program as written, and none is offered
  double closest_seconds = 0;    // in that case, the time of the fastest schedule
  bool stopped = false;          // `stop` ended the search, not the budget
  Progress progress;
  std::vector<double> best_so_far;    // after each trial, seconds
  std::vector<std::string> notes;     // candidates that were wrong, records that were not used
  std::vector<FailureCause> causes;   // of candidates that failed, the most frequent first
  std::vector<TaskKey> tasks;         // of the records: the session's program, and those that points have of their own
  std::string device;            // that measured, or "runner NAME"; empty: this machine's processor, or none
  bool is_ranked = false;        // no device runs the target: times are estimates, and nothing was measured
  std::string figures;           // of the compiled kernels of the best: "96 registers, no spills, 34 KB shared"
  bool abandoned = false;        // `abandon` ended the comparison
  std::unique_ptr<Comparison> comparison;   // the comparison that is left to the caller; null: there is none
};

/// The fastest candidates of a stopped search, not yet compared with the program, and the workers that built them. Contains text and processes but no IR nodes,
/// so that any single thread may finish it. The destructor ends the workers.
class Comparison {
 public:
  struct Parts;
  explicit Comparison(std::unique_ptr<Parts> parts);
  Comparison(const Comparison&) = delete;
  auto operator=(const Comparison&) -> Comparison& = delete;
  ~Comparison();

  [[nodiscard]] auto best_seconds() const -> double;
  /// Finds the fastest candidate with the right results, and marks verified and wrong ones in the database. Must be called once. With `abandon`, `on_progress` of
  /// the session's options is no longer called.
  [[nodiscard]] auto finish(std::function<bool()> abandon = {}) -> Result<SessionResult>;

 private:
  std::unique_ptr<Parts> parts_;
};

/// `module_text`: the script text of the module, for workers and the database. `label` names the task in the database.
[[nodiscard]] auto tune(const IRModule& module, Name function, const target::Target& target, const std::string& label,
                        const SessionOptions& options) -> Result<SessionResult>;

/// A session in steps, for several programs that share a budget. Options for the whole search (`trials`, `stop` and the like) hold as in `tune`.
class SteppedSession {
 public:
  SteppedSession(const IRModule& module, Name function, const target::Target& target, const std::string& label, SessionOptions options);
  SteppedSession(SteppedSession&&) noexcept;
  auto operator=(SteppedSession&&) noexcept -> SteppedSession&;
  ~SteppedSession();

  /// Makes the space, starts the workers and measures the program as written.
  [[nodiscard]] auto start() -> Status;
  /// Searches until `trials` trials are done, for at most `seconds` (0: no limit). False: the space is exhausted.
  [[nodiscard]] auto search_until(int trials, double seconds = 0) -> Result<bool>;
  [[nodiscard]] auto progress() const -> const Progress&;
  /// Confirms and compares the best; `seconds`: the time for that. Call it last.
  [[nodiscard]] auto finish(double seconds) -> Result<SessionResult>;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The time of the best schedule, with the times beside which it stands: "1.098 ms measured again (882.6 us in the search, 5.1 ms as written)".
[[nodiscard]] auto best_text(const SessionResult& result) -> std::string;

/// The parts of the time: "space 0.1 s, search 1.2 s, builds 3.4 s, measurements 2.0 s, comparison 0.5 s".
[[nodiscard]] auto profile_text(const Profile& profile) -> std::string;

/// The reason why a search offers no schedule.
[[nodiscard]] auto why_nothing(const SessionResult& result) -> std::string;

/// The arithmetic operations of one call: those of the leaf blocks on values, without index arithmetic.
[[nodiscard]] auto count_flops(const IRModule& module, Name function) -> double;

/// A lower bound for the seconds of a call on a machine: the time for its arithmetic, or for moving its buffers through memory once, if that is more. 0: unknown,
/// since a shape is symbolic or the arithmetic is not in float32.
[[nodiscard]] auto least_seconds(const IRModule& module, Name function, const target::Peaks& peaks) -> double;

}  // namespace loopsmith::tune
