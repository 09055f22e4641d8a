// Facts from measurements rather than from the text: jobs of this session, and records of earlier searches. Lenses, code actions, hovers,
// symbols and verdicts depend on a snapshot and on these facts.
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
  bool is_compared = false;   // its results were compared with the program's; otherwise it is not offered
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

/// Records of earlier searches on this machine. The worker reads them from the tuning database.
class RecordedSearches {
 public:
  virtual ~RecordedSearches() = default;
  /// None: nothing is recorded for the program, or several programs have a function with this name.
  virtual auto best(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<RecordedBest> = 0;
  /// The schedule function of the best record, with a name that is unused in the file; none: its steps no longer apply to the program.
  virtual auto schedule_text(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<std::string> = 0;
  virtual auto draws(const IRModule& program, const schedule::Draw& draw) -> RecordedDraws = 0;
};

struct Measured {
  const std::map<uint64_t, JobFacts>& jobs;   // by number, so newer ones are last
  RecordedSearches* records = nullptr;        // null: no records
};

/// A hash of the declarations that a measurement depends on: all except other programs and schedules. When it changes, the measurement is stale.
[[nodiscard]] auto hash_of_declarations(const workspace::Snapshot& snapshot, const std::string& function, const std::string& schedule) -> uint64_t;

/// True when the text of the program or of the schedules has changed since the job began.
[[nodiscard]] auto is_stale(const workspace::Snapshot& snapshot, const JobFacts& job) -> bool;

/// True when a program is a function rather than a class with several functions.
[[nodiscard]] auto is_function(const workspace::Snapshot& snapshot, const workspace::Program& program) -> bool;
/// The program that is, or contains, the function with a name; null: none or several.
[[nodiscard]] auto program_with(const workspace::Snapshot& snapshot, std::string_view function) -> const workspace::Program*;
/// True when a schedule is for the program of a search.
[[nodiscard]] auto is_for(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, std::string_view function) -> bool;

/// "138.00 us, 71% of the roofline".
[[nodiscard]] auto time_title(double seconds, double share) -> std::string;
/// The progress of a search: "tuning: trial 12/64, best 141.3 us". `stop_title`: the title of the button that stops it.
[[nodiscard]] auto progress_title(const JobFacts& job) -> std::string;
[[nodiscard]] auto stop_title(const JobFacts& job) -> std::string;

}  // namespace loopsmith::lsp
