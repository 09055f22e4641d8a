// Holes of schedules: the statements `sch.tune(...)` and `...`. A search fills them with the steps that it found.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "workspace/edits/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::workspace {

struct Hole {
  Span span;                // the bytes of the statement in the text
  std::string program;      // the declaration that is scheduled; empty: unknown
  std::string state;        // the structural hash of the program in front of the hole; `loopsmith tune --json` reports the same hash
  std::string function;     // the text of the schedule function
  std::string variable;     // the function's name for its schedule
  double seconds = 0;       // the budget in the statement; 0: the statement gives none
  int64_t trials = 0;
};

/// The first hole of a run. None: the run has no hole, or the hole is no longer in the text.
[[nodiscard]] auto first_hole(const Snapshot& snapshot, const script::ScheduleRun& run) -> std::optional<Hole>;
/// The first hole of a schedule's run. None: there is no hole, or the run is of an earlier text.
[[nodiscard]] auto hole_of(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::optional<Hole>;

/// The edit that fills a hole: the statements of a found schedule, with the hole's indentation and the text's line breaks. None: the text has changed since,
/// and its bytes `span` are no longer a hole of a schedule called `variable`.
[[nodiscard]] auto fill_hole(std::string_view text, const Hole& hole, std::string_view statements) -> std::optional<TextEdit>;

/// All names in a text, except those in strings. A new variable with another name cannot be mistaken for an existing one.
[[nodiscard]] auto names_in(std::string_view text) -> std::set<std::string>;

}  // namespace loopsmith::workspace
