// Holes of schedules: the statements `sch.tune(...)` and `...`, which a search fills with the steps that it found.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "workspace/edits/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::workspace {

struct Hole {
  Span span;                // the statement, in bytes of the text
  std::string program;      // the declaration that is scheduled; empty: not known
  std::string state;        // names the program in front of the hole (its structural hash); `loopsmith tune --json` reports the same
  std::string function;     // the text of the schedule function
  std::string variable;     // the function's name for its schedule
  double seconds = 0;       // the budget that the statement names; 0: none
  int64_t trials = 0;
};

/// The first hole of a run. None: it has none, or the hole is not in the text any more.
[[nodiscard]] auto first_hole(const Snapshot& snapshot, const script::ScheduleRun& run) -> std::optional<Hole>;
/// The first hole of a schedule's run. None also where that run is of an earlier text.
[[nodiscard]] auto hole_of(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::optional<Hole>;

/// The edit that fills a hole: statements that a search found, with the hole's indentation and the text's line breaks. None: the text changed since, and
/// its bytes `span` are no hole of a schedule called `variable`.
[[nodiscard]] auto fill_hole(std::string_view text, const Hole& hole, std::string_view statements) -> std::optional<TextEdit>;

/// All names that a text uses, those in strings left out. A new variable that avoids them cannot be mistaken for another.
[[nodiscard]] auto names_in(std::string_view text) -> std::set<std::string>;

}  // namespace loopsmith::workspace
