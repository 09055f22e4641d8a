// Titles of lenses: see lenses.h.
#include "lsp/features/lenses.h"

#include <fmt/format.h>

namespace loopsmith::lsp {

auto is_of_another_file(const script::FileSchedule& schedule) -> bool { return !schedule.program && schedule.diagnostics.empty(); }

auto code_lenses(const workspace::Snapshot& snapshot) -> std::vector<Lens> {
  std::vector<Lens> lenses;
  for (const Tunable& tunable : tunables_in(snapshot, {0, static_cast<uint32_t>(snapshot.text().size())})) {
    lenses.push_back({tunable.name_span, "tune", Lens::Action::Tune, tunable.name});
  }
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    auto span = snapshot.resolve(schedule.where);
    // What is imported is not run, and silence would look like a schedule without mistakes.
    if (span && schedule.run == nullptr && is_of_another_file(schedule)) { lenses.push_back({*span, not_run_text, Lens::Action::None, schedule.name.str()}); }
    if (!span || schedule.run == nullptr) { continue; }
    size_t done = 0;
    size_t failed = 0;
    uint32_t line = 0;
    for (const script::Step& step : schedule.run->steps) {
      if (step.state == script::StepState::Done) { ++done; }
      if (step.state == script::StepState::Failed) {
        ++failed;
        if (auto where = snapshot.resolve(step.where)) { line = snapshot.lines().line_of(where->begin) + 1; }
      }
    }
    size_t total = schedule.run->steps.size();
    std::string title = failed == 0 && done == total ? fmt::format("{} step{} ok", total, total == 1 ? "" : "s")
                        : failed > 0                 ? fmt::format("{} of {} steps, stops in line {}", done, total, line)
                                                     : fmt::format("{} of {} steps", done, total);
    lenses.push_back({*span, title, Lens::Action::None, schedule.name.str()});
    lenses.push_back({*span, "show IR", Lens::Action::View, schedule.name.str()});
    if (auto hole = hole_of(snapshot, schedule)) { lenses.push_back({hole->span, "tune this", Lens::Action::Fill, schedule.name.str(), hole}); }
  }
  return lenses;
}

}  // namespace loopsmith::lsp
