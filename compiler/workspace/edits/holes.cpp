// Finds and fills the holes of schedules: see holes.h.
#include "workspace/edits/holes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/equal.h"
#include "script/objects.h"
#include "support/text.h"

namespace loopsmith::workspace {

auto first_hole(const Snapshot& snapshot, const script::ScheduleRun& run) -> std::optional<Hole> {
  auto found = std::find_if(run.steps.begin(), run.steps.end(), [](const script::Step& step) { return step.hole.has_value(); });
  auto span = found != run.steps.end() ? snapshot.resolve(found->where) : std::nullopt;
  if (!span || found->after == nullptr) { return std::nullopt; }
  Hole hole{.span = *span, .program = {}, .state = fmt::format("{:016x}", structural_hash(found->after->module())), .function = run.text, .variable = "sch",
            .seconds = found->hole->seconds, .trials = found->hole->trials};
  auto frame = script::frame_before(run, found->index);
  if (!frame) { return hole; }
  for (const auto& [name, value] : frame->scope->slots()) {
    const auto* object = value.as<script::ScheduleObject>();
    if (object && object->record.part == script::ScheduleObject::Part::Own) { hole.variable = name.str(); }
  }
  return hole;
}

auto hole_of(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::optional<Hole> {
  if (schedule.run == nullptr || !schedule.is_settled()) { return std::nullopt; }
  auto hole = first_hole(snapshot, *schedule.run);
  if (hole) { hole->program = schedule.program_name.str(); }
  return hole;
}

auto fill_hole(std::string_view text, const Hole& hole, std::string_view statements) -> std::optional<TextEdit> {
  if (hole.span.end > text.size() || hole.span.begin > hole.span.end) { return std::nullopt; }
  std::string_view statement = text.substr(hole.span.begin, hole.span.end - hole.span.begin);
  bool is_call = statement.starts_with(hole.variable) && statement.find("tune") != std::string_view::npos;
  if (statement != "..." && !is_call) { return std::nullopt; }
  size_t start = hole.span.begin == 0 ? 0 : text.rfind('\n', hole.span.begin - 1) + 1;
  std::string_view indent = text.substr(start, hole.span.begin - start);
  return TextEdit{hole.span, with_line_breaks(statements, std::string(line_break_of(text)) + std::string(indent))};
}

auto names_in(std::string_view text) -> std::set<std::string> {
  std::set<std::string> names;
  std::string name;
  char quote = 0;
  for (char c : text) {
    if (quote == 0 && is_name_part(c)) { name += c; continue; }
    if (!name.empty()) { names.insert(std::exchange(name, {})); }
    if (c == '"' || c == '\'') { quote = quote == 0 ? c : quote == c ? '\0' : quote; }
    if (c == '\n') { quote = 0; }
  }
  if (!name.empty()) { names.insert(std::move(name)); }
  return names;
}

}  // namespace loopsmith::workspace
