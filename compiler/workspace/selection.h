// Selects from a text by name: a program, a schedule function, and with both the program as written and after the schedule. The command line
// (`--function`, `--with`, `--until`), build scripts and the REPL select in the same way.
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

/// "`a`, `b` and `c`"; of more than eight names, the first eight and the number of the others.
[[nodiscard]] auto names_text(const std::vector<std::string>& names) -> std::string;
/// Adds a remedy to a diagnostic about an unknown name: the most similar known name, or all known names ("it has the programs ...").
[[nodiscard]] auto with_known_names(Diagnostic diagnostic, std::string_view wanted, const std::vector<std::string>& names, std::string_view kind) -> Diagnostic;
/// Adds the remedy to a diagnostic that the file has no program: `--with` and a schedule that makes its program itself, if there is one.
[[nodiscard]] auto with_schedules_that_make_programs(Diagnostic diagnostic, const Snapshot& snapshot) -> Diagnostic;

/// The programs that schedules can name, in the order of the text.
[[nodiscard]] auto top_programs(const Snapshot& snapshot) -> std::vector<Program>;
/// The programs inside functions and classes of Python that the file does not bind to a name of its own.
[[nodiscard]] auto inner_programs(const Snapshot& snapshot) -> std::vector<Program>;
/// The names of the schedule functions, in the order of the text.
[[nodiscard]] auto schedule_names(const Snapshot& snapshot) -> std::vector<std::string>;

/// The AutoTVM template of a file without programs; empty: the file has none, or several.
[[nodiscard]] auto only_template(const Snapshot& snapshot) -> std::string;

/// The schedules that `loopsmith build` considers for a program, in the order of the text: functions with the decorator, for processors. `loopsmith build`
/// applies the last one.
[[nodiscard]] auto schedules_for_build(const Snapshot& snapshot, std::string_view program) -> std::vector<const script::FileSchedule*>;
/// True for the one of several schedules that `loopsmith build` applies.
[[nodiscard]] auto counts_for_build(const Snapshot& snapshot, const script::FileSchedule& schedule) -> bool;

/// The program with a name: a bare function, a module, or a function in a module. For Python, also the last part of a dotted name, if it is unique.
/// An empty name: the only program.
[[nodiscard]] auto find_program(const Snapshot& snapshot, std::string_view name) -> Result<Program>;

/// A function with `@T.prim_func` anywhere in the text: a search can be started for it.
struct Tunable {
  std::string name;
  Span span;       // of the whole function
  Span name_span;
};
/// The tunables that overlap a span.
[[nodiscard]] auto tunables_in(const Snapshot& snapshot, Span span) -> std::vector<Tunable>;

struct SelectionRequest {
  std::string function = {};           // the program, or a function of its module; empty: the only program
  std::string schedule = {};           // the schedule function to apply; empty: none
  bool only_schedule = false;          // with an empty `schedule`: apply the only schedule function
  bool takes_ill_formed = false;       // also take programs with errors that have a module
  bool stops_at_hole = false;          // run the schedule up to its first hole, even with errors behind it
  std::optional<uint32_t> until = {};  // the last line (from 1) whose statements run
  const schedule::Trace* trace = nullptr;   // applied to the program if no schedule is; null: none
  bool only_template = false;          // with an empty `schedule`, in a file without programs: apply the only AutoTVM template
  std::shared_ptr<const script::autotvm::Decisions> decisions = {};   // the choices of the template's knobs; null: its fallback
};

struct Selection {
  Name program;                        // the declaration's name
  bool is_bare = false;                // a bare function: `main` of its module
  Name function;                       // the selected function of the module
  IRModule before;                     // as written
  IRModule module;                     // after the schedule; without one, as written
  std::string schedule;                // the applied schedule function; empty: none
  std::string template_name;           // of the schedule function, an AutoTVM template; empty: it is none
  std::shared_ptr<const script::autotvm::Space> space;   // the knobs of the template; null: it has none
  std::optional<schedule::Trace> trace;
  std::string schedule_target;         // the target in the schedule; may be empty
  std::optional<Hole> hole;            // the schedule's first hole, if the request stops there: `module` is the program in front of the hole
};

/// The reason why nothing was selected. Without diagnostics and sentence, the errors of the text are the reason.
struct NotSelected {
  Diagnostics why;
  std::string sentence;                // replaces the diagnostics if no code fits
  bool is_contradiction = false;       // the names of the request exclude each other
};

/// Further results of a selection: the lines that the schedule function printed, and a note if its name is ambiguous.
struct SelectionOutput {
  std::string printed;
  std::string note;
};

/// Selects, and runs the requested schedule. Needs `Document::evaluate` or `check`.
[[nodiscard]] auto select(Document& document, const SelectionRequest& request, SelectionOutput& output) -> std::variant<Selection, NotSelected>;

}  // namespace loopsmith::workspace
