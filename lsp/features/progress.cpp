// Marks beside statements of schedules: see progress.h.
#include "lsp/features/progress.h"

#include <algorithm>

#include "lsp/features/steps.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

/// The number of steps that can be reused from the last run, which was of an earlier text.
auto steps_kept(const script::FileSchedule& schedule) -> size_t {
  const script::ScheduleRun* run = schedule.interrupted != nullptr ? schedule.interrupted.get() : schedule.run.get();
  if (run == nullptr || !schedule.item || run->context != schedule.context || !run->asked || !run->asked.same_as(schedule.first_program)) { return 0; }
  std::string_view now = schedule.item->text;
  auto same = static_cast<size_t>(std::mismatch(run->text.begin(), run->text.end(), now.begin(), now.end()).first - run->text.begin());
  size_t kept = 0;
  while (kept < run->steps.size() && run->steps[kept].state == script::StepState::Done && run->steps[kept].where.end < same) { ++kept; }
  return kept;
}

}  // namespace

auto seconds_to_replay(const workspace::Snapshot& snapshot) -> double {
  double seconds = 0;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    const script::ScheduleRun* run = schedule.interrupted != nullptr ? schedule.interrupted.get() : schedule.run.get();
    if (schedule.is_settled() || run == nullptr) { continue; }
    for (size_t step = steps_kept(schedule); step < run->steps.size(); ++step) { seconds += run->steps[step].seconds; }
  }
  return seconds;
}

auto replay_marks(const workspace::Snapshot& snapshot, const script::ScheduleRun* running, size_t step, const std::vector<DeclId>& finished) -> std::vector<ReplayMark> {
  std::vector<ReplayMark> marks;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.is_settled() && schedule.run != nullptr) {
      // Statements behind a statement that only Python can run are not marked as stale.
      bool has_failed = false;
      for (const script::Step& one : schedule.run->steps) {
        auto span = snapshot.resolve(one.where);
        if (span && !schedule.others.empty() && schedule_at(snapshot, span->begin) != &schedule) { continue; }
        if (span && one.state == script::StepState::Failed) { marks.push_back({*span, ReplayMark::State::Failed}); }
        if (span && has_failed && one.state == script::StepState::NotRun) { marks.push_back({*span, ReplayMark::State::Stale}); }
        has_failed = has_failed || one.state == script::StepState::Failed;
      }
      continue;
    }
    if (!schedule.program || std::find(finished.begin(), finished.end(), schedule.decl) != finished.end()) { continue; }
    auto def = syntax::function_of(schedule.item);
    if (def == nullptr) { continue; }
    bool is_here = running != nullptr && running->decl == schedule.decl;
    for (size_t i = is_here ? step : steps_kept(schedule); i < def->body.size(); ++i) {
      auto span = snapshot.syntax().resolve(def->body[static_cast<uint32_t>(i)]->origin());
      if (span) { marks.push_back({*span, is_here && i == step ? ReplayMark::State::Running : ReplayMark::State::Stale}); }
    }
  }
  std::sort(marks.begin(), marks.end(), [](const ReplayMark& a, const ReplayMark& b) { return a.span.begin < b.span.begin; });
  return marks;
}

}  // namespace loopsmith::lsp
