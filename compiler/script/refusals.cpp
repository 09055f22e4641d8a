// Explains refused calls: see refusals.h.
#include "script/refusals.h"

#include <map>
#include <utility>

#include "schedule/explain.h"
#include "schedule/moves.h"
#include "script/scope_names.h"
#include "support/codes.h"

namespace loopsmith::script {

void explain_refusal(Diagnostics& diagnostics, const ScheduleObject& object, const eval::Scope& scope, const CancelToken& cancel) {
  auto refused = std::exchange(object.record.refused, std::nullopt);
  if (!refused) { return; }
  Diagnostics own;
  size_t at = diagnostics.size();
  for (size_t i = 0; i < diagnostics.size(); ++i) {
    Origin where = diagnostics[i].where;
    if (where.decl == refused->call.decl && where.begin == refused->call.begin && diagnostics[i].severity == Severity::Error) {
      at = i;
      own.push_back(diagnostics[i]);
      break;
    }
  }
  if (own.empty()) { return; }
  auto matched = schedule::match_arguments(*refused->primitive, refused->arguments, refused->call);
  if (!matched.ok()) { return; }
  std::map<NodeId, std::string> names = scope_names(object.schedule, scope);
  std::string schedule_name = "sch";
  for (const auto& [name, value] : scope.slots()) {
    if (value.as<ScheduleObject>() == &object) { schedule_name = name.str(); }
  }
  schedule::Explanation found = schedule::explain(object.schedule, *refused->primitive, matched->values, own, [&](const schedule::Place& place) {
    auto name = names.find(place.id);
    return name == names.end() ? std::string() : name->second;
  }, cancel);
  for (schedule::Repair& repair : found.repairs) {
    repair.before = schedule::in_words_of(std::move(repair.before), schedule_name);
    repair.instead = schedule::in_words_of(std::move(repair.instead), schedule_name);
  }
  own = schedule::with_explanation(std::move(own), found);
  // The diagnostic contains the trace's name of a variable ("l3"); replaces it by the script's name.
  if (own.front().code == Code::VariableGone) {
    for (auto& [argument, text] : own.front().args) {
      if (argument != "variable") { continue; }
      auto is_it = [&](const eval::Value& value) {
        const auto* variable = value.as<VariableObject>();
        return variable != nullptr && schedule::Schedule::name_of(variable->variable) == text;
      };
      std::string name_of_it;
      for (const auto& [name, value] : scope.slots()) {
        if (name.view().starts_with("_")) { continue; }
        if (is_it(value)) { name_of_it = name.str(); break; }
        const std::vector<eval::Value>* items = value.items();
        for (size_t i = 0; items != nullptr && i < items->size() && name_of_it.empty(); ++i) {
          if (is_it((*items)[i])) { name_of_it = name.str() + "[" + std::to_string(i) + "]"; }
        }
      }
      if (!name_of_it.empty()) { text = std::move(name_of_it); }
    }
  }
  if (!found.repairs.empty() && !found.repairs.front().instead.empty()) { own.front().fixes.push_back({refused->call, found.repairs.front().instead}); }
  diagnostics[at] = std::move(own.front());
}

auto repaired(const std::string& statement, Span call, const std::string& remedy) -> std::string {
  if (!remedy.starts_with("`")) { return {}; }
  size_t close = remedy.find('`', 1);
  if (close == std::string::npos || call.end > statement.size() || call.begin > call.end) { return {}; }
  std::string code = remedy.substr(1, close - 1);
  if (remedy.substr(close + 1) == " works") { return statement.substr(0, call.begin) + code + statement.substr(call.end); }
  if (remedy.substr(close + 1) == " first: then it works") { return code + "\n" + statement; }
  return {};
}

auto one_line(const std::string& lines) -> std::string {
  std::string out;
  for (char c : lines) {
    // Removes blank lines, and the indentation of a block.
    if (c == ' ' && (out.ends_with("; ") || out.ends_with(": "))) { continue; }
    if (c == '\n') { out += out.ends_with("; ") || out.ends_with(": ") ? "" : out.ends_with(":") ? " " : "; "; } else { out += c; }
  }
  while (out.ends_with(" ") || out.ends_with(";")) { out.pop_back(); }
  return out;
}

}  // namespace loopsmith::script
