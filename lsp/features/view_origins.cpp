// Follows the origins and ids of loops and blocks from state to state: see view_origins.h.
#include "lsp/features/view_origins.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/printer.h"
#include "lsp/features/view_keys.h"
#include "lsp/features/views.h"
#include "schedule/state.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// The longest useful lists.
constexpr size_t most_makers = 16;
constexpr size_t most_places = 100;
constexpr size_t most_blamed = 4;

auto origin_of(const schedule::Place& place) -> const Origin& { return place.is_loop() ? place.loop->origin : place.block()->origin; }

/// Null: the program as written.
auto state_after(const script::ScheduleRun& run, size_t count) -> const schedule::State* {
  return count == 0 || count > run.steps.size() || run.steps[count - 1].after == nullptr ? nullptr : &run.steps[count - 1].after->state();
}

void add_once(std::vector<Span>& spans, std::optional<Span> span) {
  if (span && std::find(spans.begin(), spans.end(), *span) == spans.end()) { spans.push_back(*span); }
}

}  // namespace

auto makers_of(const script::ScheduleRun& run, size_t count, NodeId id) -> std::vector<size_t> {
  struct Made { size_t count; NodeId id; };
  std::vector<Made> todo = {{count, id}};
  std::vector<size_t> makers;
  while (!todo.empty() && makers.size() < most_makers) {
    Made made = todo.back();
    todo.pop_back();
    const schedule::State* state = state_after(run, made.count);
    auto found = state != nullptr ? state->find(made.id) : schedule::State::Found{};
    if (!found || origin_of(*found.place).step == 0 || origin_of(*found.place).step > made.count) { continue; }
    size_t step = origin_of(*found.place).step - 1;
    bool is_known = std::find(makers.begin(), makers.end(), step) != makers.end();
    if (!is_known) { makers.push_back(step); }
    const schedule::State* before = state_after(run, step);
    const schedule::State* after = state_after(run, step + 1);
    if (before == nullptr || after == nullptr) { continue; }
    // Continue with the same loop in its earlier form, or with the loop that the step consumed: `i` of `sch.split(i)`.
    if (before->find(made.id)) {
      todo.push_back({step, made.id});
      continue;
    }
    const schedule::FuncState* func = is_known ? nullptr : before->func(found.func->name());
    if (func == nullptr) { continue; }
    for (const schedule::Place& place : func->places()) {
      if (place.is_loop() == found.place->is_loop() && !after->find(place.id)) { todo.push_back({step, place.id}); }
    }
  }
  std::sort(makers.rbegin(), makers.rend());
  return makers;
}

auto origins_in_view(const Snapshot& snapshot, std::string_view fragment, uint32_t line, uint32_t column) -> std::vector<Span> {
  auto view = view_of(snapshot, fragment);
  if (!view) { return {}; }
  std::vector<Span> spans;
  const script::ScheduleRun* run = view->schedule != nullptr ? view->schedule->run.get() : nullptr;
  if (const PrintedRange* place = printed_at(*view, line, column); place != nullptr && name_in(*view, *place).line == line) {
    const schedule::State* state = run != nullptr ? state_after(*run, view->reached) : nullptr;
    auto found = state != nullptr ? state->find(place->id) : schedule::State::Found{};
    if (found) { add_once(spans, snapshot.resolve(origin_of(*found.place))); }
    if (run != nullptr) {
      for (size_t step : makers_of(*run, view->reached, place->id)) { add_once(spans, snapshot.resolve(run->steps[step].where)); }
    }
    if (!spans.empty()) { return spans; }
  }
  // Use the nearest line above with an origin, or in code, whose lines are not nested, the line itself.
  bool is_exact = fragment.ends_with(":llvm") || fragment.ends_with(":asm") || fragment.ends_with(":cuda") || fragment.ends_with(":opencl") || fragment.ends_with(":ptx");
  uint32_t from = line;
  for (const auto& [at, span] : view->sources) {
    if (at <= line) { from = at; }
  }
  if (is_exact) { from = line; }
  for (const auto& [at, span] : view->sources) {
    if (at == from) { add_once(spans, span); }
  }
  for (auto step = view->steps.rbegin(); step != view->steps.rend(); ++step) {
    if (step->first == from) { add_once(spans, step->second); }
  }
  return spans;
}

auto code_of_view(const Snapshot& snapshot, std::string_view fragment, uint32_t line) -> std::optional<Counterpart> {
  auto view = view_of(snapshot, fragment);
  std::string state(fragment.substr(0, fragment.rfind(':')));
  auto code = view ? view_of(snapshot, state + ":asm") : std::nullopt;
  if (!code || code->is_behind) { return std::nullopt; }
  // Use whole lines, because a store and its value are on the same line of the source.
  std::vector<Span> meant;
  const LineIndex& source = snapshot.lines();
  for (const auto& [at, span] : view->sources) {
    if (at != line) { continue; }
    uint32_t last = source.line_of(span.end);
    meant.push_back({static_cast<uint32_t>(source.line_start(snapshot.text(), source.line_of(span.begin))), static_cast<uint32_t>(source.line_start(snapshot.text(), last) + source.line_text(snapshot.text(), last).size())});
  }
  LineIndex lines(code->text);
  Counterpart found{code->address, std::move(code->text), {}};
  uint32_t last = 0;
  for (const auto& [at, span] : code->sources) {
    bool is_meant = std::any_of(meant.begin(), meant.end(), [&, one = span](Span whole) { return whole.begin <= one.begin && one.end <= whole.end; });
    if (!is_meant) { continue; }
    auto begin = static_cast<uint32_t>(lines.line_start(found.text, at));
    auto end = static_cast<uint32_t>(begin + lines.line_text(found.text, at).size());
    if (!found.spans.empty() && at <= last + 1) {
      found.spans.back().end = end;
    } else if (found.spans.size() < most_places) {
      found.spans.push_back({begin, end});
    }
    last = at;
  }
  return found.spans.empty() ? std::nullopt : std::optional(std::move(found));
}

auto state_at_fault(const Snapshot& snapshot, const workspace::Finding& finding) -> std::optional<FaultState> {
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.run == nullptr) { continue; }
    const script::ScheduleRun& run = *schedule.run;
    for (size_t i = 0; i < run.steps.size(); ++i) {
      if (run.steps[i].state != script::StepState::Failed) { continue; }
      auto failed = std::find_if(run.steps[i].diagnostics.begin(), run.steps[i].diagnostics.end(),
                                 [&](const Diagnostic& one) { return one.code == finding.code && snapshot.resolve(one.where) == finding.span && one.message() == finding.message; });
      const IRModule module = i == 0 ? run.program : run.steps[i - 1].after != nullptr ? run.steps[i - 1].after->module() : IRModule();
      if (failed == run.steps[i].diagnostics.end() || !module) { continue; }
      std::vector<NodeId> blamed(failed->node_ids.begin(), failed->node_ids.end());
      for (const RelatedNote& note : failed->notes) { blamed.push_back(note.node_id); }
      std::vector<PrintedRange> ranges;
      FaultState state{fmt::format("{}#{}@{}", view_address(snapshot.name()), schedule.name.view(), i), print_script(module, {.ranges = &ranges}), {}};
      std::vector<NodeId> shown;
      for (NodeId id : blamed) {
        auto range = std::find_if(ranges.begin(), ranges.end(), [&](const PrintedRange& one) { return id != 0 && one.id == id && one.name_end > one.name_begin; });
        if (range == ranges.end() || shown.size() == most_blamed || std::find(shown.begin(), shown.end(), id) != shown.end()) { continue; }
        shown.push_back(id);
        bool is_loop = range->node != nullptr && range->node->kind == NodeKind::For;
        state.places.push_back({fmt::format("{} `{}`", is_loop ? "loop" : "block", std::string_view(state.text).substr(range->name_begin, range->name_end - range->name_begin)), {range->name_begin, range->name_end}});
      }
      return state.places.empty() ? std::nullopt : std::optional(std::move(state));
    }
  }
  return std::nullopt;
}

}  // namespace loopsmith::lsp
