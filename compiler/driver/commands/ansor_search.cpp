// Searches in the spaces of the auto-scheduler: see ansor_search.h.
#include "driver/commands/ansor_search.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/vocabulary.h"
#include "script/auto_scheduler/custom_rules.h"
#include "script/auto_scheduler/log.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::driver::commands {
namespace {

using namespace script::auto_scheduler;

/// A sketch with the choices of its decisions.
struct OpenSketch {
  Task task;
  Prepared prepared;
  State initial, sketch;
  std::vector<Decision> decisions;
  SketchOptions options;
  frontend::File& file;

  /// The steps of a point; the reason against them.
  [[nodiscard]] auto candidate(const tune::Point& point) const -> Result<std::pair<std::vector<Step>, Applied>> {
    auto find_extents = [&](const std::vector<Step>& steps) -> std::optional<std::vector<std::vector<int64_t>>> {
      auto applied = apply_candidate(file, task, prepared, steps);
      return applied.ok() ? std::optional(applied->extents) : std::nullopt;
    };
    auto state = candidate_of(initial, sketch, decisions, {point.begin(), point.end()}, options, find_extents);
    if (!state) { return error(Code::CannotTune).arg("function", task.variable.view()).arg("reason", because(Why::StepOfSketch).text()); }
    LOOPSMITH_TRY(applied, apply_candidate(file, task, prepared, state->steps()));
    return std::pair(state->steps(), std::move(applied));
  }
};

}  // namespace

auto task_of(const Selection& selection) -> std::optional<Task> {
  for (Task& task : tasks_of(selection.file->document().file())) {
    if (task.variable == selection.program) { return std::move(task); }
  }
  return std::nullopt;
}

auto AnsorSearch::space(const tune::SpaceContext& context) -> Result<tune::Sketches> {
  frontend::File& file = selection_.file->document().file();
  auto refused = [&](const std::string& why) { return error(Code::CannotTune).arg("function", selection_.program.view()).arg("reason", why); };
  if (is_gpu_target(selection_.target.kind)) { return refused(because(Why::RulesForProcessors).text()).remedy("use `--space metaschedule` for a device"); }
  auto prepared = prepare(file, task_);
  if (!prepared) { return refused(because(Why::NoTensorsToSchedule).text()); }
  const State initial(*prepared->stages, task_.tensors);
  for (const StateStage& stage : initial.stages()) {
    if (!stage.is_placeholder && !stage.is_compute) { return refused(because(Why::RulesKnowOperations).text()).remedy("use `--space own`"); }
  }
  const SketchOptions options{.cores = std::max<int64_t>(1, context.hardware.cores)};
  tune::Sketches out;
  auto failure = std::make_shared<std::string>();
  const std::vector<SketchRule> own = custom_rules(file, task_, *prepared, failure);
  const std::vector<State> sketches = make_sketches(initial, options, own);
  if (!failure->empty()) { return refused(*failure).remedy("the functions of a rule take the policy, a state and the number of a stage"); }
  for (const State& sketch : sketches) {
    auto open = std::make_shared<const OpenSketch>(OpenSketch{task_, *prepared, initial, sketch, decisions_of(initial, sketch), options, file});
    std::vector<tune::Knob> knobs;
    for (const Decision& decision : open->decisions) { knobs.push_back({.name = decision.name, .choices = decision.choices}); }
    auto steps_of_points = std::make_shared<std::map<tune::Point, std::vector<Step>>>();
    auto run = [open, steps_of_points](const tune::Point& point) -> Result<schedule::Trace> {
      LOOPSMITH_TRY(made, open->candidate(point));
      steps_of_points->emplace(point, std::move(made.first));
      return std::move(made.second.trace);
    };
    auto note = [steps_of_points, steps = steps_](const tune::Point& point, const std::string& trace) { steps->emplace(trace, steps_of_points->at(point)); };
    out.push_back(std::make_unique<tune::TemplateSketch>(context, fmt::format("ansor {}", out.size() + 1), std::move(knobs), run, note));
  }
  return out;
}

auto AnsorSearch::line(const std::string& trace, double seconds) const -> std::string {
  auto at = steps_->find(trace);
  if (at == steps_->end()) { return {}; }
  AnsorRecord record;
  record.workload = task_.workload;
  record.arguments = task_.arguments;
  record.target = selection_.target.str();
  record.steps = at->second;
  if (seconds > 0) { record.seconds = {seconds}; }
  return ansor_line(record);
}

}  // namespace loopsmith::driver::commands
