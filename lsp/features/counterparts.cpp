// From the text to views: see counterparts.h.
#include "lsp/features/counterparts.h"

#include <algorithm>

#include "ir/printer.h"
#include "lsp/features/names.h"
#include "lsp/features/steps.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// The largest number of places that an editor can usefully show.
constexpr size_t most_places = 100;

/// The loop or block that a variable of a schedule has after the statement at a place, and the state there. Null: none.
struct Meant {
  const schedule::Schedule* state = nullptr;
  const schedule::Place* place = nullptr;
};
auto meant_at(const Snapshot& snapshot, uint32_t at) -> Meant {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr || schedule->run == nullptr) { return {}; }
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(at);
  if (here == nullptr) { return {}; }
  const Entity& entity = names.entities[here->entity];
  size_t step = step_at(*schedule->run, snapshot.syntax().origin_at(at).begin);
  if (step == no_step) { return {}; }
  const schedule::Schedule* state = state_at(*schedule->run, step, true);
  const schedule::Value* value = variable_at(*schedule->run, step, entity.name, true);
  if (state == nullptr) { return {}; }
  if (entity.kind == EntityKind::Block) {
    const schedule::FuncState* func = state->state().func(state->func_working_on());
    if (func == nullptr) { return {}; }
    for (const schedule::Place& place : func->places()) {
      if (place.is_block() && place.name() == entity.name) { return {state, &place}; }
    }
    return {};
  }
  if (value == nullptr) { return {}; }
  if (const auto* loop = value->as<schedule::LoopRV>()) {
    if (auto place = state->get(*loop); place.ok()) { return {state, *place}; }
  }
  if (const auto* block = value->as<schedule::BlockRV>()) {
    if (auto place = state->get(*block); place.ok()) { return {state, *place}; }
  }
  return {};
}

/// The bytes of a line and of the lines below it with more indentation.
auto nest_at(const Snapshot& snapshot, uint32_t at) -> Span {
  const LineIndex& lines = snapshot.lines();
  auto indent_of = [&](uint32_t line) {
    std::string_view text = lines.line_text(snapshot.text(), line);
    size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? SIZE_MAX : first;
  };
  uint32_t first = lines.line_of(at);
  uint32_t last = first;
  while (last + 1 < lines.line_count() && indent_of(last + 1) > indent_of(first)) { ++last; }
  return {lines.line_start(snapshot.text(), first), static_cast<uint32_t>(lines.line_start(snapshot.text(), last) + lines.line_text(snapshot.text(), last).size())};
}

}  // namespace

auto type_definition(const Snapshot& snapshot, uint32_t at) -> std::optional<Counterpart> {
  Meant meant = meant_at(snapshot, at);
  if (meant.place == nullptr) { return std::nullopt; }
  auto view = view_at(snapshot, at);
  if (!view || view->is_behind) { return std::nullopt; }
  std::vector<PrintedRange> ranges;
  std::string text = print_script(meant.state->module(), {.ranges = &ranges});
  for (const PrintedRange& range : ranges) {
    if (range.id != 0 && range.id == meant.place->id && range.name_end > range.name_begin) {
      return Counterpart{view->address, std::move(text), {{range.name_begin, range.name_end}}};
    }
  }
  return std::nullopt;
}

auto implementation(const Snapshot& snapshot, uint32_t at) -> std::optional<Counterpart> {
  Span nest = nest_at(snapshot, at);
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule != nullptr) {
    Meant meant = meant_at(snapshot, at);
    if (meant.place == nullptr) { return std::nullopt; }
    auto span = snapshot.resolve(meant.place->stmt().origin());
    if (!span) { return std::nullopt; }
    nest = *span;
  }
  auto view = view_at(snapshot, at, Stage::Assembly);
  if (!view || view->is_behind) { return std::nullopt; }
  LineIndex lines(view->text);
  Counterpart found{view->address, std::move(view->text), {}};
  uint32_t last = 0;
  for (const auto& [line, span] : view->sources) {
    if (span.begin < nest.begin || span.end > nest.end) { continue; }
    auto begin = static_cast<uint32_t>(lines.line_start(found.text, line));
    auto end = static_cast<uint32_t>(begin + lines.line_text(found.text, line).size());
    if (!found.spans.empty() && line <= last + 1) {
      found.spans.back().end = end;
    } else if (found.spans.size() < most_places) {
      found.spans.push_back({begin, end});
    }
    last = line;
  }
  return found.spans.empty() ? std::nullopt : std::optional(std::move(found));
}

}  // namespace loopsmith::lsp
