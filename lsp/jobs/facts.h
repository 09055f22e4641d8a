// Background jobs as data: the facts that the front sends to the worker about each job that it runs (a search, a measurement, a comparison, a
// run), and that lenses, code actions and hovers are made from. Numbers and enumerators only; wording.h makes sentences of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace loopsmith::lsp {

/// Tune: a search, for a program or for the hole of a schedule. Interpret: a run by the interpreter with every access checked.
enum class JobKind : uint8_t { Tune, Bench, Verify, Run, Interpret };

/// Kept, Paused, Stopping, Comparing and ComparingStopped are phases of searches only.
enum class JobPhase : uint8_t {
  Running,
  Paused,
  Kept,              // left by an earlier session: nothing runs until the search is resumed
  Stopping,          // a stop was requested; still measuring
  Comparing,         // at the end of the search: the best is compared with the program
  ComparingStopped,  // the same after a stop; another stop ends the comparison
  Done,
  Gone,              // ended without a result, or the result was inserted: the job is forgotten
};

/// The progress of a search. None: not known, or not known yet.
struct SearchProgress {
  std::optional<int64_t> trial;
  std::optional<int64_t> trials;          // the number to be measured
  std::optional<double> best_seconds;
  std::optional<double> floor_seconds;    // a lower bound: no schedule is faster on this machine
  std::optional<double> elapsed;          // seconds
  std::optional<std::pair<double, double>> left;   // seconds, at least and at most; equal where a limit of time ends the search
  [[nodiscard]] auto has_begun() const -> bool { return trial || best_seconds || elapsed; }
};

/// The facts about a background job that a request may need.
struct JobFacts {
  uint64_t job = 0;
  JobKind kind{};
  JobPhase phase{};
  std::string uri;
  std::string function;
  int64_t version = 0;        // of the text that the job was started with
  std::string schedule;       // the schedule that is timed, compared or run; empty: the program as written. Of a search: the schedule with the hole; empty: none
  std::string other;          // another schedule, timed in turns with `schedule`; then `plain_seconds` is the time of `schedule`, `seconds` that of `other`
  SearchProgress progress;    // of a search
  double seconds = 0;         // of a search: its best; of a measurement: the schedule, or the program if no schedule is measured
  double plain_seconds = 0;   // of a measurement: the program as written
  double share = 0;           // of a search: its best as a share of the roofline; 0: not known
  bool is_equal = false;      // of a comparison: the results are the same
  std::string extent;         // of a comparison: the compared outputs and the error: "2 inputs, no error, seed 8"
  std::string difference;     // of a comparison: the first result that differs
  std::string hole_state;     // of a search for a hole: a name for the program at the hole, as in `Hole::state`
  std::string schedule_text;  // of a search: the schedule that it found
  uint64_t text_hash = 0;     // of the declarations that the job depends on (`hash_of_declarations`); used by the worker only, never sent

  [[nodiscard]] auto is_done() const -> bool { return phase == JobPhase::Done; }
  [[nodiscard]] auto is_paused() const -> bool { return phase == JobPhase::Paused || phase == JobPhase::Kept; }
  /// True for a search for a whole schedule.
  [[nodiscard]] auto tunes() const -> bool { return kind == JobKind::Tune && schedule.empty(); }
  /// True for a search that begins with `schedule`: for the statements that take the place of its `sch.tune()`, or in the space that its samples span.
  [[nodiscard]] auto fills() const -> bool { return kind == JobKind::Tune && !schedule.empty(); }
  /// True for a run, compiled or interpreted.
  [[nodiscard]] auto executes() const -> bool { return kind == JobKind::Run || kind == JobKind::Interpret; }
};

}  // namespace loopsmith::lsp
