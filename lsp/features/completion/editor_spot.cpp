// Finding the cursor's place: see editor_spot.h.
#include "lsp/features/completion/editor_spot.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/features/steps.h"
#include "script/schedules.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// The function of a schedule, with the text from its first byte on.
auto function_of(const script::FileSchedule& schedule, std::string_view text) -> script::ScheduleFunction {
  auto def = syntax::function_of(schedule.item);
  script::ScheduleFunction function = script::as_schedule_function(*def, def, text, schedule.form);
  function.others = schedule.others;
  function.contexts = syntax::contexts_of(schedule.item);
  return function;
}

/// The schedule inside statement `index` of a function (a loop, say), before the inner statement at the cursor. Null: not known. The result is
/// cached until the text before the inner statement changes.
auto inside_of(const EditorSpot& spot, const script::ScheduleFunction& function, size_t index, uint32_t place) -> std::shared_ptr<const script::Partway> {
  const script::ScheduleRun& run = *spot.run;
  uint32_t begin = function.def->body[index]->span.begin;
  bool has_run = index < run.steps.size() && run.steps[index].where.begin == begin && std::string_view(run.text).substr(0, begin) == function.text.substr(0, begin);
  if (!has_run) { return nullptr; }
  size_t end = function.text.substr(0, place).find_last_of("\n:;");
  end = std::max<size_t>(end == std::string_view::npos ? 0 : end + 1, begin);
  // The indentation decides which block of statements the line is in; a blank before the cursor ends a statement.
  size_t word = std::min<size_t>(function.text.find_first_not_of(" \t", end), place);
  if (place > 0 && place <= function.text.size() && function.text[place - 1] == ' ') { word = place; }
  std::string what = fmt::format("{} {} {} {}", run.context, spot.schedule->number, run.target, function.text.substr(0, std::max(end, word)));
  JudgedState* known = spot.patience.judged;
  if (known != nullptr && known->inside != nullptr && known->inside_of == what && known->inside_program.same_as(run.program)) { return known->inside; }
  bool is_late = false;
  auto found = script::partway({.function = function, .run = run, .index = index, .at = place, .stop = [&] { return is_late = is_late || spot.is_late(); }, .cancel = spot.patience.cancel});
  spot.is_cut_short = spot.is_cut_short || is_late;
  auto inside = found ? std::make_shared<const script::Partway>(std::move(*found)) : nullptr;
  if (known != nullptr && !is_late && !spot.patience.cancel.is_cancelled()) {
    known->inside_of = std::move(what);
    known->inside_program = run.program;
    known->inside = inside;
  }
  return inside;
}

/// The variables of the script whose loop, block or number exists before the statement at the cursor.
auto live_variables(const EditorSpot& spot) -> std::vector<LiveVariable> {
  std::vector<LiveVariable> live;
  if (spot.state == nullptr) { return live; }
  auto forget = [&](const std::string& name) {
    std::erase_if(live, [&](const LiveVariable& other) { return other.name == name || other.name.starts_with(name + "["); });
  };
  auto set = [&](const LiveVariable& variable) {
    forget(variable.name);
    live.push_back(variable);
  };
  auto add = [&](Name name, const schedule::Value& value) {
    LiveVariable variable{.name = name.str()};
    if (const auto* list = value.as<schedule::Value::List>()) {
      forget(variable.name);
      for (size_t item = 0; item < list->size(); ++item) {
        if (const schedule::Place* place = place_of(*spot.state, (*list)[item])) { live.push_back({fmt::format("{}[{}]", name.view(), item), place}); }
      }
      return;
    }
    if (const auto* number = value.as<schedule::ExprRV>()) {
      auto known = spot.state->get(*number);
      if (!known.ok()) { return; }
      variable.number = *known;
      set(variable);
      return;
    }
    variable.place = place_of(*spot.state, value);
    if (variable.place != nullptr) { set(variable); } else { forget(variable.name); }
  };
  for (size_t i = 0; i < spot.steps; ++i) {
    for (const auto& named : spot.run->steps[i].named) { add(named.name, named.variable); }
  }
  if (spot.inside != nullptr) {
    for (const auto& named : spot.inside->named) { add(named.name, named.variable); }
  }
  return live;
}

/// Finds the state of the schedule before the statement at the cursor.
void find_state(EditorSpot& spot, DeclId decl) {
  spot.schedule_name = spot.schedule->form.variable.str();
  spot.program = spot.schedule->program;
  spot.target = spot.schedule->target;
  spot.run = spot.schedule->interrupted ? spot.schedule->interrupted.get() : spot.schedule->run.get();
  bool is_known = true;
  if (const script::ScheduleRun* run = spot.run) {
    // The state follows the last step whose statement ends before the cursor.
    uint32_t begin = spot.snapshot.syntax().resolve({decl, 0, 0, 0}).value_or(Span{spot.base, spot.base}).begin;
    uint32_t place = spot.at - begin;
    script::ScheduleFunction function = function_of(*spot.schedule, std::string_view(spot.snapshot.text()).substr(begin));
    std::optional<size_t> around = script::statement_around(function, place);
    for (size_t i = 0; i < std::min(run->steps.size(), around.value_or(SIZE_MAX)) && run->steps[i].where.end < place; ++i) {
      if (run->steps[i].after == nullptr) { break; }
      spot.state = run->steps[i].after.get();
      spot.steps = i + 1;
    }
    if (around) {
      spot.inside = inside_of(spot, function, *around, place);
      is_known = spot.inside != nullptr;
      spot.state = is_known ? spot.inside->schedule.get() : nullptr;
      if (!is_known) { spot.steps = 0; }
    }
  }
  JudgedState* judged = spot.patience.judged;
  if (spot.inside != nullptr) {
    spot.now = spot.inside->schedule;
  } else if (spot.state != nullptr) {
    spot.now = spot.run->steps[spot.steps - 1].after;
  } else if (spot.program && is_known) {
    bool is_judged = judged != nullptr && judged->program && judged->program.same_as(spot.program);
    spot.now = is_judged ? judged->state : std::make_shared<const schedule::Schedule>(spot.program);
  }
  if (judged != nullptr && judged->state != spot.now) {
    judged->state = spot.now;
    judged->program = spot.state == nullptr ? spot.program : IRModule();
    judged->found.clear();
    judged->best.clear();
  }
}

}  // namespace

auto find_spot(const Snapshot& snapshot, uint32_t at, const Patience& patience) -> EditorSpot {
  EditorSpot spot(snapshot);
  spot.at = std::min(at, static_cast<uint32_t>(snapshot.text().size()));
  spot.behind = std::string_view(snapshot.text()).substr(spot.at);
  spot.patience = patience;
  // An indented blank line below a declaration counts as a part of it: the user is about to write its next statement.
  const syntax::PlacedItem* placed = snapshot.syntax().item_at(spot.at);
  uint32_t line_start = snapshot.lines().line_start(snapshot.text(), snapshot.lines().line_of(spot.at));
  bool is_indented = line_start < snapshot.text().size() && snapshot.text()[line_start] == ' ';
  if (placed == nullptr && is_indented) {
    for (const syntax::PlacedItem& item : snapshot.syntax().items()) {
      if (item.offset <= spot.at) { placed = &item; }
    }
  }
  if (placed == nullptr) {
    spot.base = line_start;
    spot.text = cursor_text(std::string_view(snapshot.text()).substr(spot.base), spot.at - spot.base);
    spot.text.prefix_begin += spot.base;
    return spot;
  }
  uint32_t inside = std::min(spot.at, placed->end());
  Origin origin = snapshot.syntax().origin_at(inside);
  DeclId decl = snapshot.syntax().whole(origin.decl != 0 ? origin.decl : placed->item->decl);
  spot.item = placed;
  spot.base = placed->offset;
  spot.text = cursor_text(std::string_view(snapshot.text()).substr(spot.base), spot.at - spot.base);
  spot.text.prefix_begin += spot.base;
  spot.function = syntax::function_of(snapshot.syntax().declaration(decl));
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.decl == decl) { spot.schedule = &schedule; }
  }
  if (spot.schedule != nullptr && !spot.schedule->others.empty()) {
    if (const script::FileSchedule* about = schedule_at(snapshot, on_statement(snapshot, spot.at)); about != nullptr && about->decl == decl) { spot.schedule = about; }
  }
  if (spot.schedule != nullptr && spot.function != nullptr) { find_state(spot, decl); }
  spot.live = live_variables(spot);
  leave_out_named_items(spot.live);
  if (spot.schedule_name.empty() && spot.function != nullptr) { spot.schedule_name = syntax::schedule_parameter(*spot.function).str(); }
  return spot;
}

auto was_named(const EditorSpot& spot, Name name) -> bool {
  if (spot.state == nullptr) { return false; }
  auto is_it = [&](const auto& named) { return named.name == name; };
  for (size_t i = 0; i < spot.steps; ++i) {
    const auto& named = spot.run->steps[i].named;
    if (std::any_of(named.begin(), named.end(), is_it)) { return true; }
  }
  return spot.inside != nullptr && std::any_of(spot.inside->named.begin(), spot.inside->named.end(), is_it);
}

}  // namespace loopsmith::lsp
