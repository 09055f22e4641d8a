// A tuning session: one function, one target, a budget; from the design space through search and measurement to a best
// schedule that was verified before it is offered.
//
// Everything measured goes to the database at once. A session that stops for any reason (budget, cancel, crash) keeps its
// best; started again with the same seed it makes the same proposals, finds their records, and goes on where it was.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"
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
  std::string phase;             // "measuring", "confirming", "verifying"
  std::vector<double> trial_seconds;     // of every trial, in order; 0: it was not measured to its end
  std::string best_python;       // the statements of the best so far, as a script
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
};

struct SessionResult {
  bool found = false;            // something measured, and verified where asked
  std::string trace;             // TVM's JSON
  std::string trace_python;      // lines of a schedule function's body
  double best_seconds = 0;
  double spread_seconds = 0;
  double plain_seconds = 0;
  double flops = 0;
  std::string verified;          // how
  bool is_unscheduled_best = false;   // no schedule beat the program as it is
  bool stopped = false;          // by `stop`, not by the budget
  Progress progress;
  std::vector<double> best_so_far;    // after each trial, seconds
  std::vector<std::string> notes;     // candidates that were wrong, records that were not used
};

/// `module_text`: the script text of the module, for workers and the database. `label` names the task in the database.
[[nodiscard]] auto tune(const IRModule& module, Name function, const target::Target& target, const std::string& label,
                        const SessionOptions& options) -> Result<SessionResult>;

/// Arithmetic operations of one call: the leaf blocks' operations on values, index arithmetic left out.
[[nodiscard]] auto count_flops(const IRModule& module, Name function) -> double;

}  // namespace loopsmith::tune
