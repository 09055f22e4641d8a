// What can be tuned, and where a found schedule goes in the text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// A program that a search can be started for.
struct Tunable {
  std::string name;
  Span span;       // of the whole function
  Span name_span;
};

/// The prim_funcs that a span touches.
[[nodiscard]] auto tunables_in(const workspace::Snapshot& snapshot, Span span) -> std::vector<Tunable>;

/// The first `sch.tune(...)` of a schedule: a place that a search can fill.
struct Hole {
  Span span;                // of the statement
  std::string program;      // that is scheduled; empty: not known
  std::string state;        // of the program there: `loopsmith tune --json` names it the same
  double seconds = 0;       // 0: not said
  int64_t trials = 0;
};

/// None: the schedule has no hole, or its last run is of another text.
[[nodiscard]] auto hole_of(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule) -> std::optional<Hole>;

/// What is written in place of the hole: lines of a search behind its indentation, with the text's line breaks.
[[nodiscard]] auto filled(const workspace::Snapshot& snapshot, const Hole& hole, std::string_view statements) -> std::string;

/// A schedule function in the form that the file can have: in Python it makes its schedule itself (syntax/python_schedule.h), where the file
/// has no `ls` of its own.
struct ScheduleInFile {
  std::string text;
  std::optional<TextEdit> imports;   // what the file must import for it
};
[[nodiscard]] auto in_form_of(const workspace::Snapshot& snapshot, std::string_view function) -> ScheduleInFile;
/// Is that another form than `@ls.schedule(...)`?
[[nodiscard]] auto makes_schedules_itself(const workspace::Snapshot& snapshot) -> bool;

/// Do the steps of a found schedule stand in the text already, under whatever name and comments?
[[nodiscard]] auto has_steps_of(const workspace::Snapshot& snapshot, std::string_view function) -> bool;

struct Insertion {
  uint32_t offset = 0;
  std::string text;
};

/// Functions placed behind a byte where a top-level declaration ends, with blank lines around them as between any two, and the text's
/// line breaks.
[[nodiscard]] auto insertion_behind(const workspace::Snapshot& snapshot, uint32_t end, std::string_view functions) -> Insertion;

/// A schedule function placed behind the top-level declaration that holds the program, with blank lines around it as
/// between any two functions. None: the program is not in the text any more.
[[nodiscard]] auto insertion_after(const workspace::Snapshot& snapshot, std::string_view function, std::string_view schedule_text)
    -> std::optional<Insertion>;

}  // namespace loopsmith::lsp
