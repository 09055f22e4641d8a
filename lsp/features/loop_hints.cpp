// Checks of innermost loops and vectors: see loop_hints.h.
#include "lsp/features/loop_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "cost/loop_facts.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "lsp/features/refusal_reason.h"
#include "schedule/moves.h"
#include "schedule/primitive.h"
#include "schedule/schedule.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// The most hints for one file.
constexpr size_t most_hints = 60;

/// The hint for a loop; an empty code means no hint.
struct LoopRemark { std::string code; std::string message; };

auto extent_text(const For& loop) -> std::string {
  auto number = as_int(loop.extent);
  return number ? grouped(*number) : print_script(loop.extent);
}

auto about_serial(const schedule::State& state, const schedule::FuncState& func, const schedule::Place& place, const std::string& name, const schedule::NameOfPlace& name_of) -> LoopRemark {
  const schedule::Primitive* row = schedule::find_primitive("vectorize");
  for (const schedule::Move& move : schedule::candidate_moves(state, func, place, *row)) {
    Status status = schedule::judge(state, func, move);
    if (status.ok()) { return {"not-vectorized", fmt::format("loop `{}` ({}) is not vectorized, and could be: `{}`", name, extent_text(*place.loop), schedule::text_of(func, move, name_of))}; }
    std::string why = refusal_reason(status.diagnostics().front());
    return {"not-vectorized", fmt::format("loop `{}` ({}) is not vectorized: {}", name, extent_text(*place.loop), why)};
  }
  return {};
}

auto about_vector(const PrimFunc& function, const schedule::Place& place, const std::string& name) -> LoopRemark {
  auto facts = cost::loop_facts(function, place.id);
  if (!facts) { return {}; }
  std::string apart;
  for (const cost::Touch& touch : facts->touches) {
    for (const cost::Stride& stride : touch.strides) {
      auto number = stride.elements ? as_int(stride.elements) : std::nullopt;
      if (number && *number >= -1 && *number <= 1) { continue; }
      apart += fmt::format("{}`{}` is {} ", apart.empty() ? "" : ", ", touch.buffer->name.view(), stride.is_written ? "written" : "read");
      apart += number ? fmt::format("{} elements apart", grouped(*number)) : stride.elements ? fmt::format("`{}` elements apart", print_script(stride.elements)) : "at places that follow no stride";
    }
  }
  return apart.empty() ? LoopRemark{} : LoopRemark{"gathered", fmt::format("the vector of loop `{}` ({}) is gathered lane by lane: {}", name, extent_text(*place.loop), apart)};
}

void look_through(const schedule::State& state, const schedule::FuncState& func, const schedule::NameOfPlace& name_of, const std::function<void(const schedule::Place&, LoopRemark)>& report) {
  for (const schedule::Place& place : func.places()) {
    if (!place.is_loop()) { continue; }
    std::string name = name_of(place).empty() ? place.name().str() : name_of(place);
    if (place.loop->for_kind == ForKind::Vectorized) {
      if (LoopRemark remark = about_vector(func.func(), place, name); !remark.code.empty()) { report(place, std::move(remark)); }
      continue;
    }
    bool has_loop_below = false;
    for (int below = place.index + 1; below < place.end && !has_loop_below; ++below) { has_loop_below = func.places()[static_cast<size_t>(below)].is_loop(); }
    auto extent = as_int(place.loop->extent);
    if (has_loop_below || place.loop->for_kind != ForKind::Serial || (extent && *extent < 2)) { continue; }
    // Loops inside of a vector need no hint.
    bool is_in_vector = false;
    for (const schedule::Place* around = func.parent(place); around != nullptr && !is_in_vector; around = func.parent(*around)) {
      is_in_vector = around->is_loop() && around->loop->for_kind == ForKind::Vectorized;
    }
    if (is_in_vector) { continue; }
    if (LoopRemark remark = about_serial(state, func, place, name, name_of); !remark.code.empty()) { report(place, std::move(remark)); }
  }
}

void of_program(const Snapshot& snapshot, const workspace::Program& program, std::vector<LoopHint>& out) {
  schedule::State state(program.module);
  for (const auto& [name, body] : program.module->functions) {
    const schedule::FuncState* func = state.func(name);
    if (func == nullptr || !func->is_schedulable()) { continue; }
    look_through(state, *func, [](const schedule::Place&) { return std::string(); }, [&](const schedule::Place& place, LoopRemark remark) {
      auto span = snapshot.resolve(place.loop->origin);
      if (!span) { return; }
      // Underline only the head.
      uint32_t line_end = static_cast<uint32_t>(std::min(snapshot.text().find('\n', span->begin), snapshot.text().size()));
      out.push_back({{span->begin, std::min(span->end, line_end)}, std::move(remark.code), std::move(remark.message)});
    });
  }
}

void of_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule, std::vector<LoopHint>& out) {
  const script::ScheduleRun& run = *schedule.run;
  if (run.steps.empty() || run.steps.back().after == nullptr) { return; }
  const schedule::Schedule& last = *run.steps.back().after;
  const schedule::FuncState* func = last.state().func(last.func_working_on());
  if (func == nullptr || !func->is_schedulable()) { return; }
  // The script's variables for loops, and the last statement that bound each.
  struct Named { NodeId id; std::string name; size_t step; };
  std::vector<Named> all;
  for (size_t i = 0; i < run.steps.size(); ++i) {
    for (const auto& named : run.steps[i].named) {
      const auto* loop = named.variable.as<schedule::LoopRV>();
      auto place = loop != nullptr ? last.get(*loop) : Result<const schedule::Place*>(nullptr);
      if (loop != nullptr && place.ok() && *place != nullptr && !named.name.view().starts_with("_")) { all.push_back({(*place)->id, named.name.str(), i}); }
    }
  }
  auto find = [&](const schedule::Place& place) -> const Named* {
    auto found = std::find_if(all.rbegin(), all.rend(), [&](const Named& one) { return one.id == place.id; });
    return found == all.rend() ? nullptr : &*found;
  };
  look_through(last.state(), *func, [&](const schedule::Place& place) { const Named* named = find(place); return named != nullptr ? named->name : std::string(); },
               [&](const schedule::Place& place, LoopRemark remark) {
                 const Named* named = find(place);
                 auto head = snapshot.resolve(schedule.where);
                 auto span = named != nullptr ? snapshot.resolve(run.steps[named->step].where) : head;
                 if (!span) { return; }
                 LoopHint hint{*span, std::move(remark.code), fmt::format("after `{}`, {}", schedule.name.view(), remark.message)};
                 if (auto origin = snapshot.resolve(place.loop->origin)) { hint.related.emplace_back(*origin, "it comes of this loop"); }
                 out.push_back(std::move(hint));
               });
}

}  // namespace

auto loop_hints(const Snapshot& snapshot) -> std::vector<LoopHint> {
  std::vector<LoopHint> out;
  for (const workspace::Program& program : snapshot.programs()) {
    if (!program.module || program.is_inside) { continue; }
    bool has_schedule = std::any_of(snapshot.schedules().begin(), snapshot.schedules().end(), [&](const script::FileSchedule& one) { return one.program_decl == program.decl; });
    if (!has_schedule) { of_program(snapshot, program, out); }
  }
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.run != nullptr && schedule.is_settled() && schedule.run->is_complete) { of_schedule(snapshot, schedule, out); }
  }
  std::sort(out.begin(), out.end(), [](const LoopHint& a, const LoopHint& b) { return std::tie(a.span.begin, a.message) < std::tie(b.span.begin, b.message); });
  if (out.size() > most_hints) { out.resize(most_hints); }
  return out;
}

}  // namespace loopsmith::lsp
