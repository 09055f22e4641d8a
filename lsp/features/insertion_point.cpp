// Finds the place where a statement can be inserted: see insertion_point.h.
#include "lsp/features/insertion_point.h"

#include <algorithm>

#include <fmt/format.h>

#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "lsp/features/tuning.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

void collect_names(const script::ScheduleRun& run, size_t end, const schedule::Schedule& state, InsertionPoint& point) {
  for (size_t i = 0; i < end; ++i) {
    for (const auto& named : run.steps[i].named) {
      std::string items = named.name.str() + "[";
      std::erase_if(point.names, [&](const auto& one) { return one.first == named.name.view() || one.first.starts_with(items); });
      auto add = [&](std::string name, const schedule::Value& variable) {
        const schedule::Place* place = nullptr;
        if (const auto* loop = variable.as<schedule::LoopRV>()) {
          if (auto found = state.get(*loop); found.ok()) { place = *found; }
        } else if (const auto* block = variable.as<schedule::BlockRV>()) {
          if (auto found = state.get(*block); found.ok()) { place = *found; }
        }
        if (place != nullptr) { point.names.emplace_back(std::move(name), place->id); }
      };
      add(named.name.str(), named.variable);
      const auto* list = named.variable.as<schedule::Value::List>();
      for (size_t item = 0; list != nullptr && item < list->size(); ++item) { add(fmt::format("{}{}]", items, item), (*list)[item]); }
    }
  }
}

auto indent_of(const Snapshot& snapshot, uint32_t offset) -> std::string {
  std::string_view line = snapshot.lines().line_text(snapshot.text(), snapshot.lines().line_of(offset));
  return std::string(line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())));
}

/// All names of a function, and the names of the file that it can use.
auto names_bound_by(const Snapshot& snapshot, DeclId function) -> std::vector<Name> {
  std::vector<Name> names;
  for (const Entity& entity : names_of(snapshot).entities) {
    if (entity.function == function || entity.function == 0) { names.push_back(entity.name); }
  }
  return names;
}

auto variable_of(const script::FileSchedule& schedule) -> std::string {
  return schedule.form.variable.empty() ? "sch" : schedule.form.variable.str();
}

auto count_of(const script::FileSchedule& schedule, size_t done) -> std::string {
  return fmt::format("{} after {} of {} statements", schedule.name.view(), done, schedule.run->steps.size());
}

/// Statements of blocks have no place in a schedule of stages: the next statement of a stage would take back their effect.
auto takes_statements(const script::FileSchedule& schedule) -> bool { return schedule.form.made == nullptr || !syntax::makes_stages(*schedule.form.made); }

/// The place above the first statement, with the program as written.
auto point_above(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::optional<InsertionPoint> {
  const script::ScheduleRun& run = *schedule.run;
  if (run.steps.empty() || !run.program || !takes_statements(schedule)) { return std::nullopt; }
  auto span = snapshot.resolve(run.steps.front().where);
  if (!span) { return std::nullopt; }
  return InsertionPoint{schedule::Schedule(run.program), {}, span->begin, names_bound_by(snapshot, run.decl), "", "\n" + indent_of(snapshot, span->begin), count_of(schedule, 0), variable_of(schedule), schedule.target};
}

/// The last step that calls primitives. Statements after it only use the schedule (`return tvm.build(sch.mod)`), so new ones go before those.
auto last_that_works(const script::ScheduleRun& run) -> size_t {
  size_t last = run.steps.size() - 1;
  for (size_t i = run.steps.size(); i-- > 0;) {
    if (run.steps[i].primitives > 0) { return i; }
    // For a schedule without steps: the place behind the statement that makes it.
    bool makes_it = run.makes_its_own && run.steps[i].after != nullptr && (i == 0 || run.steps[i - 1].after == nullptr);
    if (makes_it) { last = i; }
  }
  return last;
}

}  // namespace

auto InsertionPoint::name_of(const schedule::Place& place) const -> std::string {
  // Prefer a variable of its own to an item of a list.
  std::string item;
  for (auto one = names.rbegin(); one != names.rend(); ++one) {
    if (one->second != place.id) { continue; }
    if (!one->first.ends_with(']')) { return one->first; }
    if (item.empty()) { item = one->first; }
  }
  return item;
}

auto InsertionPoint::is_taken(std::string_view name) const -> bool { return std::find(taken.begin(), taken.end(), name) != taken.end(); }

auto point_after(const Snapshot& snapshot, const script::FileSchedule& schedule, size_t index) -> std::optional<InsertionPoint> {
  return takes_statements(schedule) ? point_behind(snapshot, schedule, index) : std::nullopt;
}

auto point_behind(const Snapshot& snapshot, const script::FileSchedule& schedule, size_t index) -> std::optional<InsertionPoint> {
  const script::ScheduleRun& run = *schedule.run;
  if (index >= run.steps.size() || run.steps[index].after == nullptr) { return std::nullopt; }
  auto span = snapshot.resolve(run.steps[index].where);
  if (!span) { return std::nullopt; }
  // A comment behind the statement stays with it.
  uint32_t end = span->end;
  const std::string& text = snapshot.text();
  size_t next = text.find_first_not_of(" \t", end);
  if (next != std::string::npos && text[next] == '#') { end = static_cast<uint32_t>(std::min(text.find_first_of("\r\n", next), text.size())); }
  InsertionPoint point{*run.steps[index].after, {}, end, names_bound_by(snapshot, run.decl), "\n" + indent_of(snapshot, span->begin), "", count_of(schedule, index + 1), variable_of(schedule), schedule.target};
  collect_names(run, index + 1, point.schedule, point);
  return point;
}

auto point_for_program(const Snapshot& snapshot, Origin at) -> std::optional<InsertionPoint> {
  DeclId whole = snapshot.syntax().whole(at.decl);
  const workspace::Program* program = nullptr;
  for (const workspace::Program& one : snapshot.programs()) {
    if (!one.module || one.is_inside) { continue; }
    if (one.decl == whole) { program = &one; }
    for (const auto& [function, body] : one.module->functions) {
      if (body->origin.decl == whole) { program = &one; }
    }
  }
  if (program == nullptr) { return std::nullopt; }
  // Use the last schedule for the program that runs to its end; else a new one.
  std::optional<InsertionPoint> point;
  bool has_schedule = false;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.program_decl != program->decl) { continue; }
    has_schedule = true;
    point.reset();
    if (schedule.run == nullptr || !schedule.is_settled() || !schedule.run->is_complete || schedule.run->steps.empty()) { continue; }
    point = point_after(snapshot, schedule, last_that_works(*schedule.run));
  }
  if (has_schedule) { return point; }
  std::string mark = "\x01";
  std::string text = workspace::schedule_function({.program = program->name.str(), .name = program->name.str() + "_schedule", .body = mark + "\n"});
  auto placed = workspace::placed_after(snapshot, program->name.view(), text);
  if (!placed) { return std::nullopt; }
  workspace::Insertion* insertion = &placed->insertion;
  size_t hole = insertion->text.find(mark);
  if (hole == std::string::npos) { return std::nullopt; }
  // A variable with the name of the program would hide it where the schedule is made.
  InsertionPoint made{schedule::Schedule(program->module), {}, insertion->offset, {Name("sch"), program->name}, insertion->text.substr(0, hole),
             insertion->text.substr(hole + mark.size()), fmt::format("{} as written", program->name.view())};
  made.imports = std::move(placed->imports);
  return made;
}

auto point_at(const Snapshot& snapshot, uint32_t at) -> std::optional<InsertionPoint> {
  if (at > snapshot.text().size()) { return std::nullopt; }
  at = on_statement(snapshot, at);
  Origin cursor = snapshot.syntax().origin_at(at);
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr) { return point_for_program(snapshot, cursor); }
  // After a loop, a branch or an inner function the variable may be unbound.
  if (schedule->run == nullptr || !schedule->is_settled() || schedule->form.is_nested) { return std::nullopt; }
  size_t index = step_at(*schedule->run, cursor.begin);
  // Statements after a `return` do not run.
  auto span = index != no_step ? snapshot.resolve(schedule->run->steps[index].where) : std::nullopt;
  if (span && std::string_view(snapshot.text()).substr(span->begin).starts_with("return")) { index = index == 0 ? no_step : index - 1; }
  return index == no_step ? point_above(snapshot, *schedule) : point_after(snapshot, *schedule, index);
}

}  // namespace loopsmith::lsp
