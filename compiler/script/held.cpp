// Counts steps that still work: see held.h.
#include "script/held.h"

#include <algorithm>

namespace loopsmith::script {

auto what_holds(const ScheduleRun& run) -> std::string {
  auto stopped = std::find_if(run.steps.begin(), run.steps.end(), [](const Step& step) { return step.state == StepState::Failed || step.state == StepState::NotRun; });
  std::string done = std::to_string(stopped - run.steps.begin());
  if (stopped == run.steps.end()) { return done == "1" ? "its step still holds" : "all " + done + " steps still hold"; }
  std::string held = done == "0" ? "" : done == "1" ? "step 1 still holds, " : "steps 1-" + done + " still hold, ";
  return held + "step " + std::to_string(stopped - run.steps.begin() + 1) + " does not" + (stopped->diagnostics.empty() ? "" : ": " + stopped->diagnostics.front().message());
}

}  // namespace loopsmith::script
