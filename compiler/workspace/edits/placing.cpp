// Inserts schedule functions into a text: see placing.h.
#include "workspace/edits/placing.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/printer.h"
#include "support/text.h"
#include "syntax/python_schedule.h"
#include "workspace/selection.h"

namespace loopsmith::workspace {
namespace {

constexpr std::string_view indent = "    ";

auto indented(std::string_view lines) -> std::string {
  std::string out;
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size());
    if (end > 0) { out.append(indent).append(lines.substr(0, end)); }
    out += '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

auto without_line_ends(std::string_view text) -> std::string_view {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) { text.remove_suffix(1); }
  while (!text.empty() && text.front() == '\n') { text.remove_prefix(1); }
  return text;
}

/// Functions with two blank lines in front of them, and no line break behind.
auto set_apart(std::string_view functions, std::string_view line_break) -> std::string {
  return with_line_breaks(std::string(between_declarations) + std::string(without_line_ends(functions)), line_break);
}

/// The lines with code, for comparing steps.
auto without_comments(std::string_view text) -> std::string {
  std::string out = "\n";
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) { line.remove_suffix(1); }
    size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#') { continue; }
    out.append(line).push_back('\n');
  }
  return out;
}

}  // namespace

auto schedule_function(const ScheduleFunctionText& function, bool is_indented) -> std::string {
  std::string out = "@ls.schedule(" + function.program + (function.target.empty() ? "" : ", target=" + string_text(function.target)) + ")\n";
  out += "def " + function.name + "(sch: tir.Schedule) -> None:\n";
  if (function.body.empty()) { return out + "    pass\n"; }
  return out + (is_indented ? function.body : indented(function.body));
}

auto free_name(std::string_view text, const std::string& base) -> std::string {
  std::string name = base;
  for (int n = 2; contains_name(text, name); ++n) { name = fmt::format("{}_{}", base, n); }
  return name;
}

auto makes_schedules_itself(const syntax::Document& document, bool is_python) -> bool { return is_python && !syntax::has_ls(document); }
auto makes_schedules_itself(const Snapshot& snapshot) -> bool { return makes_schedules_itself(snapshot.syntax(), snapshot.name().ends_with(".py")); }

auto in_form_of(const syntax::Document& document, bool is_python, std::string_view function) -> ScheduleInFile {
  if (!makes_schedules_itself(document, is_python)) { return {std::string(function), {}}; }
  syntax::PythonForm form = syntax::python_form(document);
  ScheduleInFile out{syntax::python_schedule(function, form), {}};
  if (form.missing.lines.empty()) { return out; }
  out.imports = TextEdit{{form.missing.offset, form.missing.offset}, with_line_breaks(form.missing.lines, line_break_of(document.text()))};
  return out;
}
auto in_form_of(const Snapshot& snapshot, std::string_view function) -> ScheduleInFile {
  return in_form_of(snapshot.syntax(), snapshot.name().ends_with(".py"), function);
}

auto has_steps_of(const Snapshot& snapshot, std::string_view function) -> bool {
  std::string steps = without_comments(in_form_of(snapshot, function).text);
  // The user may have changed the decorators and the line with the name.
  size_t header = steps.find("\ndef ");
  size_t begin = header == std::string::npos ? header : steps.find('\n', header + 1);
  return begin != std::string::npos && begin + 1 < steps.size() && without_comments(snapshot.text()).find(std::string_view(steps).substr(begin)) != std::string::npos;
}

auto insertion_behind(std::string_view text, uint32_t end, std::string_view functions) -> Insertion {
  uint32_t offset = end;
  while (offset > 0 && (text[offset - 1] == '\n' || text[offset - 1] == '\r')) { --offset; }
  std::string_view line_break = line_break_of(text);
  std::string lines = set_apart(functions, line_break);
  if (offset == text.size()) { lines += line_break; }
  return {offset, std::move(lines)};
}
auto insertion_behind(const Snapshot& snapshot, uint32_t end, std::string_view functions) -> Insertion {
  return insertion_behind(std::string_view(snapshot.text()), end, functions);
}

auto insertion_after(const Snapshot& snapshot, std::string_view program, std::string_view schedule_text) -> std::optional<Insertion> {
  for (const Tunable& tunable : tunables_in(snapshot, {0, static_cast<uint32_t>(snapshot.text().size())})) {
    const syntax::PlacedItem* placed = tunable.name == program ? snapshot.syntax().item_at(tunable.span.begin) : nullptr;
    if (placed == nullptr) { continue; }
    uint32_t end = placed->end();
    for (const script::FileSchedule& schedule : snapshot.schedules()) {
      auto where = schedule.program_name.view() == program ? snapshot.resolve(schedule.where) : std::nullopt;
      const syntax::PlacedItem* behind = where ? snapshot.syntax().item_at(where->begin) : nullptr;
      if (behind != nullptr) { end = std::max(end, behind->end()); }
    }
    return insertion_behind(snapshot, end, schedule_text);
  }
  return std::nullopt;
}

auto placed_after(const Snapshot& snapshot, std::string_view program, std::string_view function) -> std::optional<PlacedSchedule> {
  ScheduleInFile written = in_form_of(snapshot, function);
  auto insertion = insertion_after(snapshot, program, written.text);
  if (!insertion) { return std::nullopt; }
  return PlacedSchedule{std::move(*insertion), std::move(written.imports)};
}

auto placed_at_end(std::string_view text, std::string_view functions) -> TextEdit {
  size_t end = text.size();
  while (end > 0 && std::string_view("\r\n ").find(text[end - 1]) != std::string_view::npos) { --end; }
  std::string_view line_break = line_break_of(text);
  return {{static_cast<uint32_t>(end), static_cast<uint32_t>(text.size())}, set_apart(functions, line_break) + std::string(line_break)};
}

auto appended(const std::string& text, std::string_view function, bool is_python) -> std::vector<TextEdit> {
  std::vector<TextEdit> edits;
  if (is_python) {
    if (ScheduleInFile form = in_form_of(syntax::Document(text), is_python, {}); form.imports) { edits.push_back(std::move(*form.imports)); }
  }
  edits.push_back(placed_at_end(text, function));
  return edits;
}

}  // namespace loopsmith::workspace
