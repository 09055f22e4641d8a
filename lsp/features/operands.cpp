// From calls of primitives to places of the program's text: see operands.h.
#include "lsp/features/operands.h"

#include <algorithm>

#include "lsp/features/steps.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

struct Touch {
  Origin call;
  std::vector<Span> direct;      // the arguments of the call
  std::vector<Span> below;       // blocks inside the arguments
};

/// The function that contains a loop or block.
auto func_of(const schedule::Schedule& schedule, const schedule::Place& place) -> const schedule::FuncState* {
  for (const auto& [name, function] : schedule.module()->functions) {
    const schedule::FuncState* func = schedule.state().func(name);
    if (func != nullptr && func->places().holds(place)) { return func; }
  }
  return nullptr;
}

void add_span(const Snapshot& snapshot, Origin origin, std::vector<Span>& spans) {
  auto span = snapshot.resolve(origin);
  if (span) { spans.push_back(*span); }
}

/// Adds the first line of a block: `with T.block("C"):`.
void add_header(const Snapshot& snapshot, const schedule::Place& place, std::vector<Span>& spans) {
  auto span = snapshot.resolve(place.block()->origin);
  if (!span) { return; }
  const LineIndex& lines = snapshot.lines();
  uint32_t line = lines.line_of(span->begin);
  auto end = static_cast<uint32_t>(lines.line_start(snapshot.text(), line) + lines.line_text(snapshot.text(), line).size());
  spans.push_back({span->begin, std::min(span->end, end)});
}

void sort(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  spans.erase(std::unique(spans.begin(), spans.end(), [](Span a, Span b) { return a.begin == b.begin && a.end == b.end; }), spans.end());
}

void add_place(const Snapshot& snapshot, const schedule::Schedule& schedule, const schedule::Place& place, Touch& touch) {
  if (place.is_block()) { return add_header(snapshot, place, touch.direct); }
  add_span(snapshot, place.loop->var->origin.decl != 0 ? place.loop->var->origin : place.loop->origin, touch.direct);
  const schedule::FuncState* func = func_of(schedule, place);
  if (func == nullptr) { return; }
  for (int i = place.index + 1; i < place.end; ++i) {
    const schedule::Place& inside = func->places()[static_cast<size_t>(i)];
    if (inside.is_block()) { add_header(snapshot, inside, touch.below); }
  }
}

/// The operands of each call of a step, from the state before the step, or after it if the step itself made them.
auto touches_of(const Snapshot& snapshot, const script::ScheduleRun& run, size_t step) -> std::vector<Touch> {
  const schedule::Schedule* after = state_at(run, step, true);
  if (after == nullptr) { return {}; }
  const schedule::Schedule* before = state_at(run, step, false);
  std::vector<const schedule::Instruction*> all = after->trace().instructions();
  std::vector<Touch> out;
  for (size_t i = before != nullptr ? std::min(before->trace().size(), all.size()) : 0; i < all.size(); ++i) {
    Touch touch{all[i]->origin, {}, {}};
    auto add = [&](auto variable) {
      for (const schedule::Schedule* state : {before, after}) {
        if (state == nullptr) { continue; }
        if (auto place = state->get(variable); place.ok()) { return add_place(snapshot, *state, **place, touch); }
      }
    };
    for (const schedule::Value& value : all[i]->values) {
      for (schedule::LoopRV loop : schedule::loops_of(value)) { add(loop); }
      for (schedule::BlockRV block : schedule::blocks_of(value)) { add(block); }
    }
    sort(touch.direct);
    sort(touch.below);
    out.push_back(std::move(touch));
  }
  return out;
}

}  // namespace

auto operands_at(const Snapshot& snapshot, uint32_t at) -> std::vector<Span> {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr || schedule->run == nullptr) { return {}; }
  size_t step = step_at(*schedule->run, snapshot.syntax().origin_at(at).begin);
  if (step == no_step) { return {}; }
  std::vector<Span> out;
  for (const Touch& touch : touches_of(snapshot, *schedule->run, step)) { out.insert(out.end(), touch.direct.begin(), touch.direct.end()); }
  sort(out);
  return out;
}

auto calls_on(const Snapshot& snapshot, Span bound) -> std::vector<Span> {
  auto holds = [&](const std::vector<Span>& spans) { return std::any_of(spans.begin(), spans.end(), [&](Span span) { return span.begin <= bound.begin && bound.end <= span.end; }); };
  std::vector<Span> out;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.run == nullptr) { continue; }
    for (size_t step = 0; step < schedule.run->steps.size(); ++step) {
      for (const Touch& touch : touches_of(snapshot, *schedule.run, step)) {
        if (holds(touch.direct) || holds(touch.below)) { add_span(snapshot, touch.call, out); }
      }
    }
  }
  sort(out);
  return out;
}

}  // namespace loopsmith::lsp
