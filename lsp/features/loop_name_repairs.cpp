// Finds the loops, and tries names for them: see loop_name_repairs.h.
#include "lsp/features/loop_name_repairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "schedule/state.h"
#include "support/codes.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// A statement of a schedule, and the state before it.
struct FailedStatement {
  const script::FileSchedule* schedule = nullptr;
  size_t index = 0;
  Span statement;
  schedule::Schedule state;
};

auto failed_statement_at(const Snapshot& snapshot, uint32_t at) -> std::optional<FailedStatement> {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr || schedule->run == nullptr || !schedule->is_settled() || !schedule->run->program) { return std::nullopt; }
  const script::ScheduleRun& run = *schedule->run;
  auto failed = std::find_if(run.steps.begin(), run.steps.end(), [](const script::Step& step) { return step.state == script::StepState::Failed; });
  auto span = failed != run.steps.end() ? snapshot.resolve(failed->where) : std::nullopt;
  if (!span || at < span->begin || at > span->end) { return std::nullopt; }
  auto index = static_cast<size_t>(failed - run.steps.begin());
  const schedule::Schedule* before = state_at(run, index, false);
  return FailedStatement{schedule, index, *span, before != nullptr ? *before : schedule::Schedule(run.program, 1)};
}

/// True when the statement runs with the edit.
auto works(const Snapshot& snapshot, const FailedStatement& met, const TextEdit& edit, const CancelToken& cancel) -> bool {
  std::string text = snapshot.text();
  text.replace(edit.span.begin, edit.span.end - edit.span.begin, edit.text);
  workspace::Document document(snapshot.name(), snapshot.version(), std::move(text), snapshot.modules());
  document.check();
  if (!document.replay(cancel)) { return false; }
  for (const script::FileSchedule& one : document.snapshot()->schedules()) {
    if (one.name == met.schedule->name && one.run != nullptr && one.run->steps.size() > met.index) { return one.run->steps[met.index].state == script::StepState::Done; }
  }
  return false;
}

/// For `i, j = sch.get_loops(c)` with three loops: names for all loops. The names in the text stay; the other loops get their names in the program.
void add_loop_names(const Snapshot& snapshot, const FailedStatement& met, const schedule::FuncState& func, const CancelToken& cancel, std::vector<TextRewrite>& out) {
  std::string_view text = std::string_view(snapshot.text()).substr(met.statement.begin, met.statement.end - met.statement.begin);
  size_t equals = text.find(" = ");
  size_t call = text.find(".get_loops(");
  size_t close = text.rfind(')');
  if (equals == std::string_view::npos || call == std::string_view::npos || call < equals || close == std::string_view::npos || close < call) { return; }
  std::string_view targets = text.substr(0, equals);
  if (targets.size() > 2 && targets.front() == '(' && targets.back() == ')') { targets = targets.substr(1, targets.size() - 2); }
  if (targets.find_first_of("()[]*\n") != std::string_view::npos) { return; }
  std::string_view argument = text.substr(call + 11, close - call - 11);
  const schedule::Place* block = nullptr;
  if (argument.size() > 2 && (argument.front() == '"' || argument.front() == '\'')) {
    for (const schedule::Place& place : func.places()) {
      if (place.is_block() && place.name() == argument.substr(1, argument.size() - 2)) { block = &place; }
    }
  } else if (const schedule::Value* value = variable_at(*met.schedule->run, met.index, Name(argument), false)) {
    if (const auto* variable = value->as<schedule::BlockRV>()) {
      if (auto place = met.state.get(*variable); place.ok()) { block = func.find((*place)->id); }
    }
  }
  if (block == nullptr) { return; }
  std::vector<std::string> loops;
  for (int32_t at = block->parent; at >= 0 && func.places()[static_cast<size_t>(at)].is_loop(); at = func.places()[static_cast<size_t>(at)].parent) {
    loops.push_back(func.places()[static_cast<size_t>(at)].name().str());
  }
  std::reverse(loops.begin(), loops.end());
  std::vector<std::string> written;
  for (size_t at = 0; at <= targets.size();) {
    size_t comma = std::min(targets.find(',', at), targets.size());
    std::string_view name = targets.substr(at, comma - at);
    name = name.substr(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    if (!name.empty()) { written.emplace_back(name); }
    at = comma + 1;
  }
  if (written.size() >= loops.size()) { return; }
  NameTable names = names_of(snapshot);
  auto is_taken = [&](const std::string& name) {
    return std::find(written.begin(), written.end(), name) != written.end() ||
           std::any_of(names.entities.begin(), names.entities.end(), [&](const Entity& one) { return one.name.view() == name && (one.function == met.schedule->decl || one.function == 0); });
  };
  for (size_t i = written.size(); i < loops.size(); ++i) {
    std::string name = loops[i];
    while (is_taken(name)) { name += "_"; }
    written.push_back(std::move(name));
  }
  std::string all = fmt::format("{}", fmt::join(written, ", "));
  TextEdit edit{{met.statement.begin, met.statement.begin + static_cast<uint32_t>(equals)}, all};
  if (works(snapshot, met, edit, cancel)) { out.push_back({.title = fmt::format("Name all {} loops: `{}`", loops.size(), all), .edits = {edit}, .why_not = {}}); }
}

}  // namespace

auto loop_name_repairs(const Snapshot& snapshot, const workspace::Finding& finding, const CancelToken& cancel) -> std::vector<TextRewrite> {
  std::vector<TextRewrite> out;
  auto met = finding.code == Code::UnpackCount ? failed_statement_at(snapshot, finding.span.begin) : std::nullopt;
  const schedule::FuncState* func = met ? met->state.state().func(met->state.func_working_on()) : nullptr;
  if (func != nullptr && func->is_schedulable()) { add_loop_names(snapshot, *met, *func, cancel, out); }
  return out;
}

}  // namespace loopsmith::lsp
