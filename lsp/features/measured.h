// Facts that are measured rather than read from the text: jobs of this session, and records of earlier searches. Lenses, code actions, hovers,
// symbols and verdicts are functions of a snapshot and of these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/jobs/facts.h"
#include "schedule/draws.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The best schedule that earlier searches recorded for a program.
struct RecordedBest {
  double seconds = 0;
  double share = 0;           // of the roofline; 0: not known
  bool is_compared = false;   // its results were compared with the program's: only then it is offered
  int64_t records = 0;
  std::string target;         // with all its options
};

/// The recorded trials that drew one value, and the best time of them.
struct RecordedDraw {
  std::vector<int64_t> value;
  int64_t trials = 0;
  double best_seconds = 0;
};
struct RecordedDraws {
  std::vector<RecordedDraw> values;   // by value
  int64_t trials = 0;                 // of the program
};

/// Records of earlier searches on this machine, which the worker reads from the tuning database.
class RecordedSearches {
 public:
  virtual ~RecordedSearches() = default;
  /// None: nothing is recorded for the program, or several programs have a function of that name.
  virtual auto best(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<RecordedBest> = 0;
  /// The schedule function of the best record, by a name that is free in the file; none: its steps no longer work on the program.
  virtual auto schedule_text(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<std::string> = 0;
  virtual auto draws(const IRModule& program, const schedule::Draw& draw) -> RecordedDraws = 0;
};

struct Measured {
  const std::map<uint64_t, JobFacts>& jobs;   // by number: newer ones last
  RecordedSearches* records = nullptr;        // null: none are known
};

/// A hash of the declarations that a measurement depends on: all but other programs and schedules. Once it differs, the measurement is stale.
[[nodiscard]] auto hash_of_declarations(const workspace::Snapshot& snapshot, const std::string& function, const std::string& schedule) -> uint64_t;

/// Was the text of the program or of the schedules changed since the job began?
[[nodiscard]] auto is_stale(const workspace::Snapshot& snapshot, const JobFacts& job) -> bool;

/// Is a program a function of its own, not a class of several?
[[nodiscard]] auto is_function(const workspace::Snapshot& snapshot, const workspace::Program& program) -> bool;
/// The program that is, or holds, the function of a name; null: none or several.
[[nodiscard]] auto program_with(const workspace::Snapshot& snapshot, std::string_view function) -> const workspace::Program*;
/// Does a schedule schedule the program that a search by that name is about?
[[nodiscard]] auto is_for(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, std::string_view function) -> bool;

/// "138.00 us, 71% of the roofline".
[[nodiscard]] auto time_title(double seconds, double share) -> std::string;
/// The progress of a search: "tuning: trial 12/64, best 141.3 us". `stop_title` is the button that ends it.
[[nodiscard]] auto progress_title(const JobFacts& job) -> std::string;
[[nodiscard]] auto stop_title(const JobFacts& job) -> std::string;

}  // namespace loopsmith::lsp
