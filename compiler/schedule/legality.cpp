// Trying candidates until one is legal: see legality.h.
#include "schedule/legality.h"

#include <algorithm>
#include <functional>

namespace loopsmith::schedule {
namespace {

/// The most checks of one primitive. If none of them passes, the answer is Unknown. This bounds the time of a list.
constexpr size_t most_judged = 200;

struct Trial {
  const Schedule& schedule;
  const FuncState& func;
  const Primitive& primitive;
  const Stop& stop;
  size_t judged = 0;
  Legality found = {};

  /// Returns false when the search may end.
  auto at(const Place& focus, const std::function<bool(const Move&)>& fits) -> bool {
    for (Move& move : candidate_moves(schedule.state(), func, focus, primitive)) {
      if (fits && !fits(move)) { continue; }
      if (stop && stop()) { return false; }
      if (judged++ >= most_judged) {
        found = {};
        return false;
      }
      Status status = judge(schedule.state(), func, move);
      if (status.ok()) {
        found = {Legality::Verdict::Legal, std::move(move), {}};
        return false;
      }
      if (found.verdict == Legality::Verdict::Unknown) { found = {Legality::Verdict::Refused, {}, status.diagnostics().front().message()}; }
    }
    return true;
  }
};

}  // namespace

auto legality_of(const Schedule& schedule, const Primitive& primitive, const NameOfPlace& name_of, const Stop& stop) -> Legality {
  const FuncState* func = schedule.state().func(schedule.func_working_on());
  if (func == nullptr || !func->is_schedulable()) { return {}; }
  Trial trial{schedule, *func, primitive, stop};
  for (bool is_named : {true, false}) {
    for (const Place& place : func->places()) {
      bool has_name = name_of && !name_of(place).empty();
      if (place.parent >= 0 && has_name == is_named && !trial.at(place, {})) { return std::move(trial.found); }
    }
  }
  return std::move(trial.found);
}

auto legality_with(const Schedule& schedule, const Primitive& primitive, const std::vector<std::optional<Value>>& first, const Stop& stop)
    -> Legality {
  const FuncState* func = schedule.state().func(schedule.func_working_on());
  if (func == nullptr || !func->is_schedulable() || first.empty()) { return {}; }
  auto fits = [&](const Move& move) {
    for (size_t i = 0; i < first.size() && i < move.values.size(); ++i) {
      if (first[i] && !(move.values[i] == *first[i])) { return false; }
    }
    return true;
  };
  // If all arguments are given, checks the call itself.
  bool is_whole = std::all_of(first.begin(), first.end(), [](const auto& value) { return value.has_value(); });
  for (size_t i = first.size(); i < primitive.params.size(); ++i) { is_whole = is_whole && primitive.params[i].otherwise.has_value(); }
  if (is_whole && first.size() <= primitive.params.size()) {
    Move move{&primitive, {}};
    for (size_t i = 0; i < primitive.params.size(); ++i) { move.values.push_back(i < first.size() ? *first[i] : *primitive.params[i].otherwise); }
    Status status = judge(schedule.state(), *func, move);
    if (status.ok()) { return {Legality::Verdict::Legal, std::move(move), {}}; }
    return {Legality::Verdict::Refused, {}, status.diagnostics().front().message()};
  }
  // A move belongs to its first argument. If the argument is a list, its first loop is unknown, so every loop is tried.
  const Place* focus = nullptr;
  if (first.front()) {
    Choice choice{schedule.state(), *func, func->root(), {}};
    focus = choice.place(*first.front());
  }
  Trial trial{schedule, *func, primitive, stop};
  if (focus != nullptr) {
    (void)trial.at(*focus, fits);
    return std::move(trial.found);
  }
  for (const Place& place : func->places()) {
    if (place.parent >= 0 && !trial.at(place, fits)) { break; }
  }
  return std::move(trial.found);
}

}  // namespace loopsmith::schedule
