// Finds names of loops and blocks in a scope: see scope_names.h.
#include "script/scope_names.h"

namespace loopsmith::script {

auto place_of(const schedule::Schedule& schedule, const VariableObject& variable) -> const schedule::Place* {
  if (const auto* block = variable.variable.as<schedule::BlockRV>()) {
    auto found = schedule.get(*block);
    return found.ok() ? *found : nullptr;
  }
  if (const auto* loop = variable.variable.as<schedule::LoopRV>()) {
    auto found = schedule.get(*loop);
    return found.ok() ? *found : nullptr;
  }
  return nullptr;
}

auto scope_names(const schedule::Schedule& schedule, const eval::Scope& scope) -> std::map<NodeId, std::string> {
  struct Named { std::string text; int rank = 0; };
  std::map<NodeId, Named> best;
  auto note = [&](const eval::Value& value, const std::string& text, int rank) {
    const auto* variable = value.as<VariableObject>();
    const schedule::Place* place = variable != nullptr ? place_of(schedule, *variable) : nullptr;
    if (place == nullptr) { return; }
    auto [found, is_new] = best.emplace(place->id, Named{text, rank});
    if (!is_new && rank >= found->second.rank) { found->second = {text, rank}; }
  };
  for (const auto& [name, value] : scope.slots()) {
    int plain = name.view().starts_with("_") ? 1 : 3;
    note(value, name.str(), plain);
    const std::vector<eval::Value>* items = value.items();
    for (size_t i = 0; items != nullptr && i < items->size(); ++i) { note((*items)[i], name.str() + "[" + std::to_string(i) + "]", plain - 1); }
  }
  std::map<NodeId, std::string> out;
  for (auto& [id, named] : best) { out.emplace(id, std::move(named.text)); }
  return out;
}

}  // namespace loopsmith::script
