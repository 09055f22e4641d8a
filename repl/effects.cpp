// Computes the effects of steps: see effects.h.
#include "repl/effects.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "ir/loop_kind.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "schedule/extent_text.h"
#include "schedule/primitive.h"
#include "schedule/trace.h"

namespace loopsmith::repl {
namespace {

/// The largest number of loops and blocks that are named.
constexpr size_t most_named = 6;

auto kind_of(const schedule::Place& place) -> std::string { return place.is_loop() ? loop_kind(*place.loop) : "block"; }

auto described(const schedule::Place& place) -> std::string {
  if (place.is_block()) { return "block " + place.name().str(); }
  std::string kind = kind_of(place);
  return place.name().str() + ":" + schedule::extent_text(place.loop->extent) + (kind == "serial" ? "" : " " + kind);
}

/// The name of the loop or block of a variable, before the step or after it. A loop that the step looked up and consumed exists in neither state.
auto name_in(const schedule::Schedule& before, const schedule::Schedule& after, auto variable) -> std::string {
  for (const schedule::Schedule* state : {&before, &after}) {
    if (auto place = state->get(variable); place.ok()) { return (*place)->name().str(); }
  }
  return {};
}

/// The name in the step's look-up of a block; empty: the step did not look it up.
auto name_looked_up(const std::vector<const schedule::Instruction*>& all, size_t begin, size_t end, schedule::BlockRV block) -> std::string {
  for (size_t i = begin; i < end; ++i) {
    const auto* made = all[i]->outputs.size() == 1 ? all[i]->outputs[0].as<schedule::BlockRV>() : nullptr;
    bool is_it = made != nullptr && *made == block;
    const std::string* name = is_it && !all[i]->values.empty() ? all[i]->values[0].as<std::string>() : nullptr;
    if (name != nullptr) { return *name; }
  }
  return {};
}

auto calls_of(const schedule::Schedule& before, const schedule::Schedule& after) -> std::string {
  std::vector<const schedule::Instruction*> old = before.trace().instructions();
  std::vector<const schedule::Instruction*> all = after.trace().instructions();
  // The trace of an adopted schedule begins anew.
  size_t begin = !old.empty() && old.size() <= all.size() && old.back() == all[old.size() - 1] ? old.size() : 0;
  std::string out;
  for (size_t i = begin; i < all.size(); ++i) {
    if (all[i]->primitive == nullptr || all[i]->primitive->is_pure) { continue; }
    std::string call(all[i]->primitive->name);
    for (const schedule::Value& value : all[i]->values) {
      for (schedule::BlockRV block : schedule::blocks_of(value)) {
        std::string name = name_in(before, after, block);
        if (name.empty()) { name = name_looked_up(all, begin, i, block); }
        if (!name.empty()) { call += " " + name; }
      }
      for (schedule::LoopRV loop : schedule::loops_of(value)) {
        if (std::string name = name_in(before, after, loop); !name.empty()) { call += " " + name; }
      }
      if (const std::string* text = value.as<std::string>(); text != nullptr && !text->empty()) { call += " " + *text; }
    }
    out += (out.empty() ? "" : "; ") + call;
  }
  return out;
}

}  // namespace

auto describe_effect(const schedule::Schedule& before, const schedule::Schedule& after) -> Effect {
  std::string calls = calls_of(before, after);
  if (calls.empty() || before.module().same_as(after.module())) { return {calls, {}}; }
  const schedule::FuncState* then = before.state().func(before.func_working_on());
  const schedule::FuncState* now = after.state().func(after.func_working_on());
  if (then == nullptr || now == nullptr) { return {calls, {}}; }
  // A new loop with the name, extent and kind of an old one is not shown as a change.
  std::map<std::string, std::vector<const schedule::Place*>> by_name;
  std::set<const schedule::Place*> kept;
  std::vector<const schedule::Place*> fresh;
  std::vector<std::pair<const schedule::Place*, const schedule::Place*>> changed;
  auto is_changed = [](const schedule::Place& a, const schedule::Place& b) {
    return a.is_loop() != b.is_loop() || kind_of(a) != kind_of(b) || a.name() != b.name() || (a.is_loop() && schedule::extent_text(a.loop->extent) != schedule::extent_text(b.loop->extent));
  };
  for (const schedule::Place& place : then->places()) {
    if (now->find(place.id) == nullptr) { by_name[described(place)].push_back(&place); }
  }
  for (const schedule::Place& place : now->places()) {
    if (place.parent < 0) { continue; }
    if (const schedule::Place* was = then->find(place.id)) {
      kept.insert(was);
      if (is_changed(*was, place)) { changed.emplace_back(was, &place); }
      continue;
    }
    auto same = by_name.find(described(place));
    if (same != by_name.end() && !same->second.empty()) {
      kept.insert(same->second.front());
      same->second.erase(same->second.begin());
      continue;
    }
    fresh.push_back(&place);
  }
  std::string out;
  size_t left_out = 0;
  size_t count = 0;
  auto say = [&](const std::string& part) {
    if (++count > most_named) { ++left_out; return; }
    out += (out.empty() ? "" : ", ") + part;
  };
  for (const schedule::Place* place : fresh) { say("+ " + described(*place)); }
  for (const auto& [was, is] : changed) { say(was->name() == is->name() && was->is_loop() ? described(*is) : described(*was) + " is " + described(*is)); }
  for (const schedule::Place& place : then->places()) {
    if (place.parent >= 0 && !kept.contains(&place)) { say("- " + (place.is_block() ? "block " : std::string()) + place.name().str()); }
  }
  if (left_out > 0) { out += fmt::format(", {} more", left_out); }
  return {calls, out};
}

}  // namespace loopsmith::repl
