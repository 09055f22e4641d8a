// Steps by place: see steps.h.
#include "lsp/features/steps.h"

#include <algorithm>

namespace loopsmith::lsp {

auto schedule_at(const workspace::Snapshot& snapshot, uint32_t offset) -> const script::FileSchedule* {
  DeclId decl = snapshot.syntax().origin_at(offset).decl;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.decl == decl) { return &schedule; }
  }
  return nullptr;
}

auto on_statement(const workspace::Snapshot& snapshot, uint32_t offset) -> uint32_t {
  const std::string& text = snapshot.text();
  const LineIndex& lines = snapshot.lines();
  uint32_t line = lines.line_of(std::min(offset, static_cast<uint32_t>(text.size())));
  std::string_view content = lines.line_text(text, line);
  size_t first = content.find_first_not_of(" \t");
  if (first == std::string_view::npos || content[first] == '#') { return offset; }
  return std::max(offset, static_cast<uint32_t>(lines.line_start(text, line) + first));
}

auto step_at(const script::ScheduleRun& run, uint32_t at) -> size_t {
  size_t found = no_step;
  for (size_t i = 0; i < run.steps.size() && run.steps[i].where.begin <= at; ++i) { found = i; }
  return found;
}

auto state_at(const script::ScheduleRun& run, size_t index, bool after) -> const schedule::Schedule* {
  if (!after) {
    if (index == 0) { return nullptr; }
    --index;
  }
  return index < run.steps.size() ? run.steps[index].after.get() : nullptr;
}

auto variable_at(const script::ScheduleRun& run, size_t index, Name name, bool after) -> const schedule::Value* {
  const schedule::Value* found = nullptr;
  size_t end = std::min(run.steps.size(), after ? index + 1 : index);
  for (size_t i = 0; i < end; ++i) {
    for (const auto& named : run.steps[i].named) {
      if (named.name == name) { found = &named.variable; }
    }
  }
  return found;
}

}  // namespace loopsmith::lsp
