// Steps by place: see steps.h.
#include "lsp/features/steps.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "support/text.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {

namespace {

/// If a function makes several schedules: the schedule that the statement at a place makes, uses or changed, or else the schedule of
/// the statement above.
auto among(const workspace::Snapshot& snapshot, const std::vector<const script::FileSchedule*>& made, Origin at) -> const script::FileSchedule* {
  auto def = syntax::function_of(made.front()->item);
  size_t index = 0;
  while (index < def->body.size() && def->body[index]->span.begin <= at.begin) { ++index; }
  while (index-- > 0) {
    const syntax::Stmt& stmt = *def->body[index];
    const script::FileSchedule* here = nullptr;
    for (const script::FileSchedule* one : made) {
      bool is_made = one->form.made != nullptr && one->form.made_at == index && (here == nullptr || one->form.variable_span.begin <= at.begin);
      if (is_made) { here = one; }
    }
    if (here != nullptr) { return here; }
    // A variable refers to the last schedule that was assigned to it.
    auto span = snapshot.resolve(stmt.origin());
    std::string_view text = span ? std::string_view(snapshot.text()).substr(span->begin, span->end - span->begin) : std::string_view();
    size_t first = std::string_view::npos;
    for (const script::FileSchedule* one : made) {
      if (one->form.made != nullptr && one->form.made_at > index) { continue; }
      size_t found = find_name(text, one->form.variable.view());
      if (found == std::string_view::npos || found > first) { continue; }
      first = found;
      here = one;
    }
    for (const script::FileSchedule* one : made) {
      bool changes = here == nullptr && one->run != nullptr && index < one->run->steps.size() && one->run->steps[index].primitives > 0;
      if (changes) { here = one; }
    }
    if (here != nullptr) { return here; }
  }
  return made.front();
}

}  // namespace

auto schedule_at(const workspace::Snapshot& snapshot, uint32_t offset) -> const script::FileSchedule* {
  Origin at = snapshot.syntax().origin_at(offset);
  std::vector<const script::FileSchedule*> made;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.decl == at.decl) { made.push_back(&schedule); }
  }
  return made.empty() ? nullptr : made.size() == 1 ? made.front() : among(snapshot, made, at);
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
