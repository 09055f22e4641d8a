// Finding programs and the place behind them: see tuning.h.
#include "lsp/features/tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/lower.h"
#include "ir/equal.h"
#include "syntax/python_schedule.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// Calls `f(placed item, function)` for every prim_func of the text.
template <class F>
void for_each_prim_func(const Snapshot& snapshot, F&& f) {
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    for (const syntax::Stmt* statement : placed.item->statements) {
      syntax::walk(*statement, [&](const syntax::Node& node) {
        if (const auto* function = node.as<syntax::FunctionDef>(); function != nullptr && frontend::is_program(*function)) { f(placed, *function); }
        return node.kind == syntax::Kind::ClassDef || node.kind == syntax::Kind::FunctionDef;
      });
    }
  }
}

}  // namespace

auto tunables_in(const Snapshot& snapshot, Span span) -> std::vector<Tunable> {
  std::vector<Tunable> found;
  for_each_prim_func(snapshot, [&](const syntax::PlacedItem&, const syntax::FunctionDef& function) {
    auto whole = snapshot.syntax().resolve(function.origin());
    auto name = snapshot.syntax().resolve({function.decl, function.name.span.begin, function.name.span.end, 0});
    if (!whole || !name || whole->end < span.begin || whole->begin > span.end) { return; }
    found.push_back({function.name.name.str(), *whole, *name});
  });
  return found;
}

auto hole_of(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::optional<Hole> {
  if (schedule.run == nullptr || !schedule.is_settled) { return std::nullopt; }
  const std::vector<script::Step>& steps = schedule.run->steps;
  auto found = std::find_if(steps.begin(), steps.end(), [](const script::Step& step) { return step.hole.has_value(); });
  auto span = found != steps.end() ? snapshot.resolve(found->where) : std::nullopt;
  if (!span || found->after == nullptr) { return std::nullopt; }
  return Hole{*span, schedule.program_name.str(), fmt::format("{:016x}", structural_hash(found->after->module())), found->hole->seconds, found->hole->trials};
}

auto filled(const Snapshot& snapshot, const Hole& hole, std::string_view statements) -> std::string {
  const std::string& text = snapshot.text();
  uint32_t start = snapshot.lines().line_start(text, snapshot.lines().line_of(hole.span.begin));
  std::string line_break = (text.find("\r\n") != std::string::npos ? "\r\n" : "\n") + text.substr(start, hole.span.begin - start);
  std::string out;
  for (char c : statements) {
    if (c == '\n') { out += line_break; } else { out += c; }
  }
  return out;
}

auto makes_schedules_itself(const Snapshot& snapshot) -> bool { return snapshot.name().ends_with(".py") && !syntax::has_ls(snapshot.syntax()); }

auto in_form_of(const Snapshot& snapshot, std::string_view function) -> ScheduleInFile {
  if (!makes_schedules_itself(snapshot)) { return {std::string(function), {}}; }
  syntax::PythonForm form = syntax::python_form(snapshot.syntax());
  ScheduleInFile out{syntax::python_schedule(function, form), {}};
  if (form.missing.lines.empty()) { return out; }
  std::string lines;
  for (char c : form.missing.lines) { c == '\n' ? lines += line_break_of(snapshot) : lines += c; }
  out.imports = TextEdit{{form.missing.offset, form.missing.offset}, std::move(lines)};
  return out;
}

auto has_steps_of(const Snapshot& snapshot, std::string_view function) -> bool {
  auto without_comments = [](std::string_view text) {
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
  };
  std::string steps = without_comments(in_form_of(snapshot, function).text);
  // Decorators and the line with the name are the person's.
  size_t header = steps.find("\ndef ");
  size_t begin = header == std::string::npos ? header : steps.find('\n', header + 1);
  return begin != std::string::npos && begin + 1 < steps.size() && without_comments(snapshot.text()).find(std::string_view(steps).substr(begin)) != std::string::npos;
}

auto insertion_after(const Snapshot& snapshot, std::string_view function, std::string_view schedule_text) -> std::optional<Insertion> {
  std::optional<uint32_t> end;
  for_each_prim_func(snapshot, [&](const syntax::PlacedItem& placed, const syntax::FunctionDef& found) {
    if (found.name.name == function && !end) { end = placed.end(); }
  });
  return end ? std::optional(insertion_behind(snapshot, *end, schedule_text)) : std::nullopt;
}

auto insertion_behind(const Snapshot& snapshot, uint32_t end, std::string_view functions) -> Insertion {
  const std::string& text = snapshot.text();
  uint32_t offset = end;
  while (offset > 0 && (text[offset - 1] == '\n' || text[offset - 1] == '\r')) { --offset; }
  while (!functions.empty() && functions.back() == '\n') { functions.remove_suffix(1); }
  while (!functions.empty() && functions.front() == '\n') { functions.remove_prefix(1); }
  std::string_view line_end = text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
  std::string insertion;
  for (int i = 0; i < 3; ++i) { insertion += line_end; }
  for (char c : functions) {
    if (c == '\n') {
      insertion += line_end;
    } else {
      insertion += c;
    }
  }
  if (offset == text.size()) { insertion += line_end; }
  return Insertion{offset, std::move(insertion)};
}

}  // namespace loopsmith::lsp
