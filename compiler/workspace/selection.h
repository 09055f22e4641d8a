// Picking from a text by name: a program, a schedule function, and with both the program as written and after the schedule. The command line
// (`--function`, `--with`, `--until`), build scripts and the REPL pick in the same way.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schedule/schedule.h"
#include "workspace/edits/holes.h"
#include "workspace/snapshot.h"

namespace loopsmith::workspace {

/// "`a`, `b` and `c`"; of many names the first eight and the number of the others.
[[nodiscard]] auto names_text(const std::vector<std::string>& names) -> std::string;
/// Adds a remedy to a diagnostic about an unknown name: the known name that is close to it, or all of them ("it has the programs ...").
[[nodiscard]] auto with_known_names(Diagnostic diagnostic, std::string_view wanted, const std::vector<std::string>& names, std::string_view kind) -> Diagnostic;

/// The programs of a text that schedules can name, in the order of the text.
[[nodiscard]] auto top_programs(const Snapshot& snapshot) -> std::vector<Program>;
/// The programs in functions and classes of Python that the file does not name itself.
[[nodiscard]] auto inner_programs(const Snapshot& snapshot) -> std::vector<Program>;
/// The names of the schedule functions, in the order of the text.
[[nodiscard]] auto schedule_names(const Snapshot& snapshot) -> std::vector<std::string>;

/// The schedules that `loopsmith build` considers for a program, in the order of the text: functions with the decorator, for processors. The last one is
/// applied; it counts.
[[nodiscard]] auto schedules_for_build(const Snapshot& snapshot, std::string_view program) -> std::vector<const script::FileSchedule*>;
/// True for the schedule that counts among several.
[[nodiscard]] auto counts_for_build(const Snapshot& snapshot, const script::FileSchedule& schedule) -> bool;

/// The program of a name: a bare function, a module, or a function in a module; of Python also the last part of a dotted name, where it is unique.
/// An empty name: the only program.
[[nodiscard]] auto find_program(const Snapshot& snapshot, std::string_view name) -> Result<Program>;

/// A function with `@T.prim_func` in the text, wherever it stands: a search can be started for it.
struct Tunable {
  std::string name;
  Span span;       // of the whole function
  Span name_span;
};
/// Those that a span touches.
[[nodiscard]] auto tunables_in(const Snapshot& snapshot, Span span) -> std::vector<Tunable>;

struct SelectionRequest {
  std::string function = {};           // the program, or a function of its module; empty: the only program
  std::string schedule = {};           // the schedule function to apply; empty: none
  bool only_schedule = false;          // with an empty `schedule`: apply the only schedule function
  bool takes_ill_formed = false;       // take programs with errors too, where they have a module
  bool stops_at_hole = false;          // run the schedule up to its first hole, in spite of errors behind it
  std::optional<uint32_t> until = {};  // the last line (from 1) whose statements run
  const schedule::Trace* trace = nullptr;   // applied to the program where no schedule is; null: none
};

struct Selection {
  Name program;                        // the declaration's name
  bool is_bare = false;                // a bare function: `main` of its module
  Name function;                       // the function meant in the module
  IRModule before;                     // as written
  IRModule module;                     // after the schedule; without one, as written
  std::string schedule;                // the schedule function applied; empty: none
  std::optional<schedule::Trace> trace;
  std::string schedule_target;         // the target that the schedule names; may be empty
  std::optional<Hole> hole;            // the schedule's first hole, where the request stops there: `module` is the program in front of the hole
};

/// Why nothing was selected. Without diagnostics and sentence the text's own errors say why.
struct NotSelected {
  Diagnostics why;
  std::string sentence;                // in place of diagnostics, where no code fits
  bool is_contradiction = false;       // the names of the request exclude each other
};

/// Output of a selection besides its result: the lines that the schedule function printed, and a note where its name is ambiguous.
struct SelectionOutput {
  std::string printed;
  std::string note;
};

/// Runs the schedule that is asked for. Needs `Document::evaluate` or `check`.
[[nodiscard]] auto select(Document& document, const SelectionRequest& request, SelectionOutput& output) -> std::variant<Selection, NotSelected>;

}  // namespace loopsmith::workspace
