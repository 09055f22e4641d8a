// The state of a schedule at a cursor: see schedule_spot.h.
#include "lsp/features/completion/schedule_spot.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/printer.h"
#include "schedule/candidates.h"
#include "schedule/extent_text.h"

namespace loopsmith::lsp {

auto place_of(const schedule::Schedule& state, const schedule::Value& variable) -> const schedule::Place* {
  if (const auto* loop = variable.as<schedule::LoopRV>()) {
    auto place = state.get(*loop);
    return place.ok() ? *place : nullptr;
  }
  if (const auto* block = variable.as<schedule::BlockRV>()) {
    auto place = state.get(*block);
    return place.ok() ? *place : nullptr;
  }
  return nullptr;
}

void leave_out_named_items(std::vector<LiveVariable>& live) {
  std::vector<NodeId> named;
  for (const LiveVariable& one : live) {
    if (one.place != nullptr && !one.name.ends_with(']')) { named.push_back(one.place->id); }
  }
  std::erase_if(live, [&](const LiveVariable& one) { return one.name.ends_with(']') && std::find(named.begin(), named.end(), one.place->id) != named.end(); });
}

auto names_for(const std::vector<LiveVariable>& live) -> schedule::NameOfPlace {
  return [&live](const schedule::Place& place) -> std::string {
    // Prefer a variable of its own to an item of a list.
    std::string item;
    for (auto variable = live.rbegin(); variable != live.rend(); ++variable) {
      if (variable->place == nullptr || variable->place->id != place.id) { continue; }
      if (!variable->name.ends_with(']')) { return variable->name; }
      if (item.empty()) { item = variable->name; }
    }
    return item;
  };
}

auto describe(const schedule::Place& place) -> std::string {
  if (!place.is_loop()) { return fmt::format("block `{}`", place.name().view()); }
  const For& loop = *place.loop;
  const char* kind = loop.for_kind == ForKind::Parallel ? "parallel " : loop.for_kind == ForKind::Vectorized ? "vectorized "
                     : loop.for_kind == ForKind::Unrolled ? "unrolled " : loop.for_kind == ForKind::ThreadBinding ? "bound " : "";
  return fmt::format("{}loop `{}`, extent {}", kind, loop.var->name.view(), schedule::extent_text(loop.extent));
}

auto block_names(const ScheduleSpot& spot) -> std::vector<std::string> {
  std::vector<std::string> names;
  auto add = [&](const schedule::State& state, Name func) {
    const schedule::FuncState* places = state.func(func);
    if (places == nullptr) { return; }
    for (const schedule::Place& place : places->places()) {
      if (place.is_block() && place.parent >= 0) { names.push_back(place.name().str()); }
    }
  };
  if (spot.now != nullptr) { add(spot.now->state(), spot.now->func_working_on()); }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

auto function_names(const ScheduleSpot& spot) -> std::vector<Name> {
  std::vector<Name> names;
  IRModule module = spot.now != nullptr ? spot.now->module() : spot.program;
  if (!module) { return names; }
  for (const auto& [name, function] : module->functions) { names.push_back(name); }
  return names;
}

auto unnamed_places(const ScheduleSpot& spot) -> std::vector<std::pair<std::string, const schedule::Place*>> {
  // Users do not read a longer list, and each place costs a test of legality.
  constexpr size_t most = 40;
  std::vector<std::pair<std::string, const schedule::Place*>> out;
  const schedule::FuncState* func = spot.now != nullptr ? spot.now->state().func(spot.now->func_working_on()) : nullptr;
  if (func == nullptr || !func->is_schedulable()) { return out; }
  auto name_of = names_for(spot.live);
  for (const schedule::Place& place : func->places()) {
    if (place.parent < 0 || !name_of(place).empty()) { continue; }
    out.emplace_back(schedule::in_words_of(schedule::place_text(*func, place, name_of), spot.schedule_name), &place);
    if (out.size() == most || spot.is_late()) { break; }
  }
  return out;
}

}  // namespace loopsmith::lsp
