// Printing states of schedules: see views.h.
#include "lsp/features/views.h"

#include <fmt/format.h>

#include <charconv>

#include "ir/printer.h"
#include "lsp/features/steps.h"
#include "support/text_diff.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto changed_lines(const std::string& before, const std::string& after) -> std::vector<std::pair<uint32_t, uint32_t>> {
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  for (const DiffLine& line : diff_lines(before, after)) {
    if (line.kind != DiffLine::Kind::Added) { continue; }
    uint32_t at = line.after - 1;
    if (!ranges.empty() && ranges.back().second == at) { ++ranges.back().second; } else { ranges.emplace_back(at, at + 1); }
  }
  return ranges;
}

auto first_line(const Snapshot& snapshot, Origin where) -> std::string {
  auto span = snapshot.resolve(where);
  if (!span) { return {}; }
  std::string line = snapshot.text().substr(span->begin, span->end - span->begin);
  return line.substr(0, line.find('\n'));
}

auto view_of_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule, size_t steps) -> std::optional<View> {
  const script::ScheduleRun* run = schedule.run.get();
  IRModule program = run != nullptr ? run->program : schedule.program;
  if (!program) { return std::nullopt; }
  View view;
  size_t total = run != nullptr ? run->steps.size() : 0;
  steps = std::min(steps, total);
  size_t reached = steps;
  while (reached > 0 && run->steps[reached - 1].after == nullptr) { --reached; }
  auto module_after = [&](size_t count) { return count == 0 ? program : run->steps[count - 1].after->module(); };
  view.text = print_script(module_after(reached));
  view.is_behind = reached < steps;
  if (reached > 0) {
    IRModule before = module_after(reached - 1);
    if (!before.same_as(module_after(reached))) { view.changed = changed_lines(print_script(before), view.text); }
  }
  view.address = fmt::format("{}#{}@{}", view_address(snapshot.name()), schedule.name.view(), steps);
  view.title = fmt::format("{} after {} of {} statements", schedule.name.view(), reached, total);
  if (view.is_behind) {
    view.title += fmt::format("; it stops at: {}", first_line(snapshot, run->steps[reached].where));
  } else if (reached > 0) {
    view.title += ": " + first_line(snapshot, run->steps[reached - 1].where);
  }
  return view;
}

auto view_of_programs(const Snapshot& snapshot) -> std::optional<View> {
  View view;
  for (const workspace::Program& program : snapshot.programs()) {
    const IRModule& module = program.module ? program.module : program.partial;
    if (!module) { continue; }
    if (!view.text.empty()) { view.text += "\n"; }
    view.text += print_script(module);
  }
  if (view.text.empty()) { return std::nullopt; }
  view.address = view_address(snapshot.name());
  view.title = "programs as written";
  return view;
}

}  // namespace

auto view_address(std::string_view uri) -> std::string {
  constexpr std::string_view file = "file://";
  return std::string(view_scheme) + std::string(uri.starts_with(file) ? uri.substr(file.size()) : uri);
}

auto view_at(const Snapshot& snapshot, uint32_t at) -> std::optional<View> {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr) { return view_of_programs(snapshot); }
  size_t steps = 0;
  if (schedule->run != nullptr) {
    size_t index = step_at(*schedule->run, snapshot.syntax().origin_at(at).begin);
    steps = index == no_step ? 0 : index + 1;
  }
  return view_of_schedule(snapshot, *schedule, steps);
}

auto view_of(const Snapshot& snapshot, std::string_view fragment) -> std::optional<View> {
  if (fragment.empty()) { return view_of_programs(snapshot); }
  size_t at = fragment.find('@');
  std::string_view name = fragment.substr(0, at);
  size_t steps = SIZE_MAX;
  if (at != std::string_view::npos) {
    std::string_view digits = fragment.substr(at + 1);
    auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), steps);
    if (problem != std::errc() || end != digits.data() + digits.size()) { return std::nullopt; }
  }
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.name == name) { return view_of_schedule(snapshot, schedule, steps); }
  }
  return std::nullopt;
}

}  // namespace loopsmith::lsp
