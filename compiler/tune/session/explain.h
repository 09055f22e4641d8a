// Why what is recorded is used for a program, or is not: which records are of this very program, on this machine, verified, and whether
// their traces still apply. Looks at the database and the program; runs and measures nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"
#include "tune/database/database.h"

namespace loopsmith::tune {

/// The records of one workload, target and machine, as seen from a program.
struct TaskExplained {
  TaskKey task;
  bool is_same_program = false;     // its hash is the program's; else it has its name
  bool is_this_machine = false;
  int64_t records = 0;
  int64_t measured = 0;
  int64_t verified = 0;
  double best_seconds = 0;          // of the fastest that was verified, or else of the fastest; 0: none was measured
  bool is_best_verified = false;
  std::string how_verified;
  std::string why_not_applied;      // of that one's trace, on the program; empty: it applies
  bool is_used = false;             // it is what an editor offers, and `build --tuned` takes for its target
};

struct RecordsExplained {
  std::string program;
  uint64_t hash = 0;
  std::vector<TaskExplained> tasks;   // what is used first, then those of this program, then others of its name
};

[[nodiscard]] auto explain_records(Database& database, const IRModule& program, const std::string& name, const std::string& machine) -> Result<RecordsExplained>;

/// A line for each task, behind one that says what is asked about. `database`: its path.
[[nodiscard]] auto text_of(const RecordsExplained& explained, const std::string& database) -> std::string;

}  // namespace loopsmith::tune
