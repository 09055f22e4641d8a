// A tuning session: one function, one target, a budget; from the design space through search and measurement to a best
// schedule that was verified before it is offered.
//
// Everything measured goes to the database at once. A session that stops for any reason (budget, cancel, crash) keeps its
// best; started again with the same seed it makes the same proposals, finds their records, and goes on where it was. Stopped before
// it came to all of them, it has them still: the best of the program's records on this target and machine is its best.
//
// To stop takes a moment, to compare the best with the program may take minutes: who asked for a stop is told of it first
// (`Progress::is_stopped`), and may leave the comparison to another thread.
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
#include "tune/database/database.h"
#include "tune/search/search.h"

namespace loopsmith::tune {

struct Progress {
  int trials = 0;                // done, by measurement or from the database
  int trials_total = 0;          // 0: bounded by time only
  double elapsed_seconds = 0;
  double limit_seconds = 0;      // 0: bounded by trials only
  double best_seconds = 0;       // 0: none yet
  double plain_seconds = 0;      // the program as it is; 0: not measured yet
  double flops = 0;              // of one call
  int from_database = 0;
  std::map<std::string, int> failures;   // by how they ended
  std::string phase;             // "measuring", "paused", "confirming", "verifying"
  std::vector<double> trial_seconds;     // of every trial, in order; 0: it was not measured to its end
  std::string best_python;       // the statements of the best so far, as a script
  bool is_stopped = false;       // by `stop`: nothing is measured any more
};

struct SessionOptions {
  int trials = 0;                // 0: no limit but time
  double seconds = 60;           // 0: no limit but trials
  uint64_t seed = 0;
  Strategy strategy = Strategy::Guided;
  std::string database;          // path; ":memory:" keeps nothing
  std::vector<std::string> worker;   // program and arguments of a worker
  int workers = 2;
  size_t batch = 16;
  bool verify = true;
  double verify_seconds = 120;   // limit
  std::function<void(const Progress&)> on_progress;
  std::function<bool()> stop;    // asked often; true: stop and keep the best
  std::function<bool()> paused;  // asked often; true: what is under way ends, nothing else is begun until it is false or `stop` is true. No time of the budget passes
  std::function<bool()> abandon; // asked often while the best is compared; true: it is not, and nothing is found
  bool compare_later = false;    // a session that `stop` ended leaves the comparison to who asked: `SessionResult::comparison`
};

class Comparison;

struct SessionResult {
  bool found = false;            // something measured, and verified where asked
  std::string trace;             // TVM's JSON
  std::string trace_python;      // lines of a schedule function's body
  double best_seconds = 0;
  double spread_seconds = 0;     // of the turns in which the fastest were compared: how far the farthest is; of one that was not compared, the median absolute deviation
  int timings = 0;               // that `best_seconds` is the median of: runs of the kernel, many at a time where it is short
  double plain_seconds = 0;
  double flops = 0;
  std::string verified;          // how
  bool is_unscheduled_best = false;   // no schedule beat the program as it is
  bool stopped = false;          // by `stop`, not by the budget
  Progress progress;
  std::vector<double> best_so_far;    // after each trial, seconds
  std::vector<std::string> notes;     // candidates that were wrong, records that were not used
  bool abandoned = false;        // by `abandon`
  std::unique_ptr<Comparison> comparison;   // what is still to be compared; none: all that is needed was
};

/// The fastest candidates of a search that was stopped, none of them compared with the program yet, and the workers that hold
/// them. It has text and processes and no nodes, so that one thread, whichever, may finish it. Ends its workers.
class Comparison {
 public:
  struct Parts;
  explicit Comparison(std::unique_ptr<Parts> parts);
  Comparison(const Comparison&) = delete;
  auto operator=(const Comparison&) -> Comparison& = delete;
  ~Comparison();

  [[nodiscard]] auto best_seconds() const -> double;
  /// The fastest whose results are right; what the database says of them is marked. Once. `on_progress` of the session's
  /// options is not called any more where `abandon` is given.
  [[nodiscard]] auto finish(std::function<bool()> abandon = {}) -> Result<SessionResult>;

 private:
  std::unique_ptr<Parts> parts_;
};

/// `module_text`: the script text of the module, for workers and the database. `label` names the task in the database.
[[nodiscard]] auto tune(const IRModule& module, Name function, const target::Target& target, const std::string& label,
                        const SessionOptions& options) -> Result<SessionResult>;

/// Arithmetic operations of one call: the leaf blocks' operations on values, index arithmetic left out.
[[nodiscard]] auto count_flops(const IRModule& module, Name function) -> double;

/// Seconds that a call takes at least on a machine: its arithmetic, or its buffers once through memory, whichever is more. 0: not known,
/// since a shape is symbolic or the arithmetic is not in float32.
[[nodiscard]] auto least_seconds(const IRModule& module, Name function, const target::Peaks& peaks) -> double;

}  // namespace loopsmith::tune
