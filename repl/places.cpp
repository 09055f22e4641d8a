// Looks up loops and blocks by name in a session: by the script's variables, and by the program's names.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "repl/session.h"
#include "schedule/moves.h"
#include "script/scope_names.h"
#include "support/text.h"

namespace loopsmith::repl {

auto Session::name_of(const schedule::Place& place) const -> std::string {
  std::map<NodeId, std::string> names = script::scope_names(schedule(), *steps_[position_].frame.scope);
  auto found = names.find(place.id);
  // `_` is the value of the last line, so its meaning changes with the next line.
  return found == names.end() || found->second.starts_with("_") ? std::string() : found->second;
}

auto Session::place_of(const std::string& name) const -> const schedule::Place* {
  const schedule::FuncState* func = schedule().state().func(function());
  if (!func) { return nullptr; }
  if (const schedule::Place* place = variable_at(position_, name)) { return place; }
  // The name is a variable of the script, even if its loop or block is gone.
  if (is_gone(name)) { return nullptr; }
  for (const schedule::Place& place : func->places()) {
    if (place.name() == std::string_view(name)) { return &place; }
  }
  return nullptr;
}

auto Session::is_gone(const std::string& name) const -> bool {
  const eval::Value* value = has_program() ? steps_[position_].frame.scope->find_here(Name(name)) : nullptr;
  return value != nullptr && value->as<script::VariableObject>() != nullptr && variable_at(position_, name) == nullptr;
}

auto Session::no_place(const std::string& name) const -> std::string {
  return "`" + name + (is_gone(name) ? "` is gone: a later step removed its loop or block; `:past " + name + "` shows which" : "` is not a loop or block of the program") + "\n";
}

auto Session::place_that_is_meant(const std::string& name) const -> const schedule::Place* {
  const schedule::Place* place = place_of(name);
  if (place == nullptr || variable_at(position_, name) != nullptr) { return place; }
  const schedule::FuncState* func = schedule().state().func(function());
  auto count = std::count_if(func->places().begin(), func->places().end(), [&](const schedule::Place& one) { return one.parent >= 0 && one.name() == std::string_view(name); });
  if (count > 1) {
    say(fmt::format("{} {} are called `{}`; this one is {}", count, place->is_loop() ? "loops" : "blocks", name, schedule::place_text(*func, *place, [this](const schedule::Place& one) { return name_of(one); })));
  }
  return place;
}

auto Session::with_places(const std::string& call) const -> std::string {
  const schedule::FuncState* func = has_program() ? schedule().state().func(function()) : nullptr;
  if (func == nullptr) { return call; }
  const eval::Scope& scope = *steps_[position_].frame.scope;
  std::string out;
  char quote = 0;
  for (size_t i = 0; i < call.size();) {
    size_t end = i + 1;
    bool is_word = quote == 0 && is_name_part(call[i]);
    if (is_word) {
      end = name_end(call, i);
    } else if (quote != 0 || call[i] == '"' || call[i] == '\'') {
      quote = quote == 0 ? call[i] : call[i] == quote ? '\0' : quote;
    }
    std::string word = call.substr(i, end - i);
    size_t next = std::min(call.find_first_not_of(' ', end), call.size());
    bool is_alone = is_word && (i == 0 || call[i - 1] != '.') && (next == call.size() || (call[next] != '(' && call[next] != '=' && call[next] != '.'));
    const schedule::Place* place = is_alone && scope.find_here(Name(word)) == nullptr ? place_of(word) : nullptr;
    out += place == nullptr ? word : schedule::place_text(*func, *place, [this](const schedule::Place& one) { return name_of(one); });
    i = end;
  }
  return out;
}

auto Session::variable_at(size_t step, const std::string& name) const -> const schedule::Place* {
  const script::ScheduleObject* object = schedule_object(steps_[step].frame);
  // `loops[2]` as well as `i`.
  size_t bracket = std::min(name.find('['), name.size());
  const eval::Value* value = steps_[step].frame.scope->find_here(Name(name.substr(0, bracket)));
  if (bracket < name.size() && value != nullptr) {
    const std::vector<eval::Value>* items = value->items();
    int64_t index = std::atoll(name.c_str() + bracket + 1);
    int64_t count = items != nullptr ? static_cast<int64_t>(items->size()) : 0;
    if (index < 0) { index += count; }
    value = index >= 0 && index < count ? &(*items)[static_cast<size_t>(index)] : nullptr;
  }
  const auto* variable = value != nullptr ? value->as<script::VariableObject>() : nullptr;
  return variable != nullptr && object != nullptr ? script::place_of(object->schedule, *variable) : nullptr;
}

}  // namespace loopsmith::repl
