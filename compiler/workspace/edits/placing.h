// Inserts schedule functions into a text: behind a program (the editor) or at the end of the file (`tune --insert`, `:save`, the editor's rewriting of
// schedules of tensor expressions), in the form that the file requires, with the imports that the form needs. Holes are filled by holes.h; replacing.h
// replaces an existing schedule.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/document.h"
#include "workspace/edits/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::workspace {

/// The text between two top-level declarations: two blank lines.
constexpr std::string_view between_declarations = "\n\n\n";

/// The text of a schedule function: `@ls.schedule(PROGRAM, target="...")`, `def NAME(sch: tir.Schedule) -> None:` and the lines of its body.
struct ScheduleFunctionText {
  std::string program;
  std::string name;
  std::string target = {};   // empty: left out
  std::string body = {};     // lines without indentation; empty: `pass`
};
/// The text ends with a line break. `is_indented`: the lines of the body are already indented.
[[nodiscard]] auto schedule_function(const ScheduleFunctionText& function, bool is_indented = false) -> std::string;

/// A name that a text does not use yet: `base`, else `base_2`, `base_3` and so on.
[[nodiscard]] auto free_name(std::string_view text, const std::string& base) -> std::string;

/// True for a Python file that does not define `ls`: each of its schedule functions must make its schedule itself (syntax/python_schedule.h).
[[nodiscard]] auto makes_schedules_itself(const syntax::Document& document, bool is_python) -> bool;
[[nodiscard]] auto makes_schedules_itself(const Snapshot& snapshot) -> bool;

/// A schedule function in the form that a file requires: with the decorator, or making its schedule itself.
struct ScheduleInFile {
  std::string text;
  std::optional<TextEdit> imports;   // imports that the form needs and the file lacks
};
[[nodiscard]] auto in_form_of(const syntax::Document& document, bool is_python, std::string_view function) -> ScheduleInFile;
[[nodiscard]] auto in_form_of(const Snapshot& snapshot, std::string_view function) -> ScheduleInFile;

/// True when the text already contains the steps of a schedule function, under any name and with any comments.
[[nodiscard]] auto has_steps_of(const Snapshot& snapshot, std::string_view function) -> bool;

struct Insertion {
  uint32_t offset = 0;
  std::string text;
};

/// Inserts functions at a byte where a top-level declaration ends, with two blank lines around them and the text's line breaks.
[[nodiscard]] auto insertion_behind(std::string_view text, uint32_t end, std::string_view functions) -> Insertion;
[[nodiscard]] auto insertion_behind(const Snapshot& snapshot, uint32_t end, std::string_view functions) -> Insertion;
/// Inserts functions behind the top-level declaration of a program, and behind the schedules for it that follow. `loopsmith build` applies the last schedule,
/// so the inserted one takes effect, as with every other way of adding a schedule to a file. None: the text has no such program.
[[nodiscard]] auto insertion_after(const Snapshot& snapshot, std::string_view program, std::string_view schedule_text) -> std::optional<Insertion>;
/// A schedule function in the form of the file, and its place behind its program. None: the text has no such program.
struct PlacedSchedule {
  Insertion insertion;
  std::optional<TextEdit> imports;   // imports that the form needs and the file lacks
};
[[nodiscard]] auto placed_after(const Snapshot& snapshot, std::string_view program, std::string_view function) -> std::optional<PlacedSchedule>;
/// Inserts functions at the end of a text, in place of the blank lines there.
[[nodiscard]] auto placed_at_end(std::string_view text, std::string_view functions) -> TextEdit;

/// The edits that add a schedule function at the end of a text, with the imports that it needs. The function already has the file's form.
[[nodiscard]] auto appended(const std::string& text, std::string_view function, bool is_python) -> std::vector<TextEdit>;

}  // namespace loopsmith::workspace
