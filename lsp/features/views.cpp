// Prints states of schedules: see views.h.
#include "lsp/features/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/printer.h"
#include "lsp/features/steps.h"
#include "support/text_diff.h"
#include "target/choice.h"

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

/// Adds the text of a stage and the origins of its lines, or, if the stage fails, a text with the reason.
/// `run`: the run of the schedule that made the module; null: none.
void fill(View& view, const Snapshot& snapshot, const IRModule& module, Stage stage, std::string_view symbol, const std::string& target, const script::ScheduleRun* run) {
  StageText made = stage_text(module, stage, symbol, target);
  view.text = std::move(made.text);
  view.places = std::move(made.places);
  for (const Diagnostic& problem : made.problems) {
    view.text += fmt::format("# {}\n", problem.message());
    for (const std::string& remedy : problem.remedies) { view.text += fmt::format("#   help: {}\n", remedy); }
    if (auto span = snapshot.resolve(problem.where)) { view.sources.emplace_back(0, *span); }
  }
  for (const auto& [line, origin] : made.lines) {
    if (auto span = snapshot.resolve(origin)) { view.sources.emplace_back(line, *span); }
  }
  for (const auto& [line, step] : made.steps) {
    auto span = run != nullptr && step <= run->steps.size() ? snapshot.resolve(run->steps[step - 1].where) : std::nullopt;
    if (span) { view.steps.emplace_back(line, *span); }
  }
}

auto title_of(Stage stage) -> std::string_view {
  switch (stage) {
    case Stage::State: return "";
    case Stage::Lowered: return ", lowered";
    case Stage::LlvmIR: return ", as LLVM IR";
    case Stage::Assembly: return ", as assembly";
    case Stage::DeviceStages: return ", lowered for a GPU";
    case Stage::Cuda: return ", as CUDA C";
    case Stage::OpenCl: return ", as OpenCL C";
    case Stage::Ptx: return ", as PTX";
  }
  return "";
}

auto suffix_of(Stage stage) -> std::string { return stage == Stage::State ? std::string() : fmt::format(":{}", stage_name(stage)); }

/// The external name of a program's function: its name in the file; empty for functions of a class, which keep their own names.
auto symbol_of(const Snapshot& snapshot, DeclId decl, Name name) -> std::string_view {
  auto item = snapshot.syntax().declaration(decl);
  return item != nullptr && item->kind == syntax::ItemKind::Class ? std::string_view() : name.view();
}

/// The target of the views of a program. A schedule works on the function `main`, or the only one.
auto target_of(const IRModule& module, const std::string& of_schedule) -> std::string {
  const bool is_empty = !module || module->functions.empty();
  return is_empty ? of_schedule : target::chosen_target({}, module, module->find("main") ? Name("main") : module->functions.front().first, of_schedule);
}

auto view_of_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule, size_t steps, Stage stage) -> std::optional<View> {
  const script::ScheduleRun* run = schedule.run.get();
  IRModule program = run != nullptr ? run->program : schedule.program;
  if (!program) { return std::nullopt; }
  View view;
  size_t total = run != nullptr ? run->steps.size() : 0;
  steps = std::min(steps, total);
  size_t reached = steps;
  while (reached > 0 && run->steps[reached - 1].after == nullptr) { --reached; }
  auto module_after = [&](size_t count) { return count == 0 ? program : run->steps[count - 1].after->module(); };
  fill(view, snapshot, module_after(reached), stage, symbol_of(snapshot, schedule.program_decl, schedule.program_name), target_of(program, schedule.target), run);
  view.schedule = run != nullptr ? &schedule : nullptr;
  view.reached = reached;
  view.is_behind = reached < steps;
  if (reached > 0 && stage == Stage::State) {
    IRModule before = module_after(reached - 1);
    if (!before.same_as(module_after(reached))) { view.changed = changed_lines(print_script(before), view.text); }
  }
  view.address = fmt::format("{}#{}@{}{}", view_address(snapshot.name()), schedule.name.view(), steps, suffix_of(stage));
  view.title = fmt::format("{} after {} of {} statements{}", schedule.name.view(), reached, total, title_of(stage));
  if (view.is_behind) {
    view.title += fmt::format("; it stops at: {}", first_line(snapshot, run->steps[reached].where));
  } else if (reached > 0) {
    view.title += ": " + first_line(snapshot, run->steps[reached - 1].where);
  }
  return view;
}

auto view_of_programs(const Snapshot& snapshot) -> std::optional<View> {
  View view;
  uint32_t line = 0;
  for (const workspace::Program& program : snapshot.programs()) {
    const IRModule& module = program.module ? program.module : program.partial;
    if (!module) { continue; }
    if (!view.text.empty()) {
      view.text += "\n";
      ++line;
    }
    StageText made = stage_text(module, Stage::State, {}, {});
    for (const auto& [at, origin] : made.lines) {
      if (auto span = snapshot.resolve(origin)) { view.sources.emplace_back(line + at, *span); }
    }
    for (PrintedRange place : made.places) {
      for (uint32_t PrintedRange::* end : {&PrintedRange::begin, &PrintedRange::end, &PrintedRange::name_begin, &PrintedRange::name_end}) { place.*end += static_cast<uint32_t>(view.text.size()); }
      view.places.push_back(place);
    }
    view.text += made.text;
    line += static_cast<uint32_t>(std::count(made.text.begin(), made.text.end(), '\n'));
  }
  if (view.text.empty()) { return std::nullopt; }
  view.address = view_address(snapshot.name());
  view.title = "programs as written";
  return view;
}

/// The view of a later stage of a program as written.
auto view_of_program(const Snapshot& snapshot, const workspace::Program& program, Stage stage) -> std::optional<View> {
  if (!program.module) { return std::nullopt; }
  View view;
  fill(view, snapshot, program.module, stage, symbol_of(snapshot, program.decl, program.name), target_of(program.module, {}), nullptr);
  view.address = fmt::format("{}#{}{}", view_address(snapshot.name()), program.name.view(), suffix_of(stage));
  view.title = fmt::format("{} as written{}", program.name.view(), title_of(stage));
  return view;
}

}  // namespace

auto view_address(std::string_view uri) -> std::string {
  constexpr std::string_view file = "file://";
  if (uri.starts_with(view_scheme)) { return std::string(uri.substr(0, std::min(uri.find('#'), uri.find("%23")))); }
  return std::string(view_scheme) + std::string(uri.starts_with(file) ? uri.substr(file.size()) : uri);
}

auto view_at(const Snapshot& snapshot, uint32_t cursor, Stage stage) -> std::optional<View> {
  // A view that the user opens as a text is not a program of the user, and has no views.
  if (snapshot.name().starts_with(view_scheme)) { return std::nullopt; }
  uint32_t at = on_statement(snapshot, cursor);
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr) {
    if (stage == Stage::State) { return view_of_programs(snapshot); }
    DeclId decl = snapshot.syntax().whole(snapshot.syntax().origin_at(at).decl);
    const syntax::PlacedItem* item = snapshot.syntax().item_at(at);
    for (const workspace::Program& program : snapshot.programs()) {
      if (program.decl == decl || (item != nullptr && program.decl == item->item->decl)) { return view_of_program(snapshot, program, stage); }
    }
    return std::nullopt;
  }
  size_t steps = 0;
  if (schedule->run != nullptr) {
    size_t index = step_at(*schedule->run, snapshot.syntax().origin_at(at).begin);
    steps = index == no_step ? 0 : index + 1;
  }
  return view_of_schedule(snapshot, *schedule, steps, stage);
}

auto view_of(const Snapshot& snapshot, std::string_view fragment) -> std::optional<View> {
  Stage stage = Stage::State;
  if (size_t colon = fragment.rfind(':'); colon != std::string_view::npos) {
    auto named = stage_named(fragment.substr(colon + 1));
    if (!named || *named == Stage::State) { return std::nullopt; }
    stage = *named;
    fragment = fragment.substr(0, colon);
  }
  if (fragment.empty() && stage == Stage::State) { return view_of_programs(snapshot); }
  size_t at = fragment.find('@');
  std::string_view name = fragment.substr(0, at);
  size_t steps = SIZE_MAX;
  if (at != std::string_view::npos) {
    std::string_view digits = fragment.substr(at + 1);
    auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), steps);
    if (problem != std::errc() || end != digits.data() + digits.size()) { return std::nullopt; }
  }
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.name == name) { return view_of_schedule(snapshot, schedule, steps, stage); }
  }
  for (const workspace::Program& program : snapshot.programs()) {
    if (at == std::string_view::npos && stage != Stage::State && program.name == name) { return view_of_program(snapshot, program, stage); }
  }
  return std::nullopt;
}

}  // namespace loopsmith::lsp
