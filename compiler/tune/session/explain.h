// Explains which records of the database are used for a program, and the reasons against others: another program or machine, not verified, or a trace that no
// longer applies. Reads the database and the program; runs and measures nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"
#include "tune/database/database.h"

namespace loopsmith::tune {

/// The records of one workload, target and machine, compared with a program.
struct TaskExplained {
  TaskKey task;
  bool is_same_program = false;     // it has the program's hash; false: only the program's name
  bool is_this_machine = false;
  int64_t records = 0;
  int64_t measured = 0;
  int64_t verified = 0;
  double best_seconds = 0;          // of the fastest verified record, otherwise of the fastest; 0: none was measured
  bool is_best_verified = false;
  std::string how_verified;
  std::string why_not_applied;      // the reason why the trace of that record does not apply to the program; empty: it applies
  bool is_used = false;             // the editor offers it, and `build --tuned` uses it for its target
};

struct RecordsExplained {
  std::string program;
  uint64_t hash = 0;
  std::vector<TaskExplained> tasks;   // first the used one, then others of this program, then others with its name
};

[[nodiscard]] auto explain_records(Database& database, const IRModule& program, const std::string& name, const std::string& machine) -> Result<RecordsExplained>;

/// A heading with the program, then one line for each task. `database`: its path.
[[nodiscard]] auto text_of(const RecordsExplained& explained, const std::string& database) -> std::string;

}  // namespace loopsmith::tune
