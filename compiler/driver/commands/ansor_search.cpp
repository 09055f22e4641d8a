// Searches in the spaces of the auto-scheduler: see ansor_search.h.
#include "driver/commands/ansor_search.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/vocabulary.h"
#include "script/auto_scheduler/custom_rules.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::driver::commands {

using namespace script::auto_scheduler;

/// A sketch with the choices of its decisions.
struct AnsorSearch::OpenSketch {
  Task task;
  Prepared prepared;
  State initial, sketch;
  std::vector<Decision> decisions;
  SketchOptions options;
  frontend::File& file;
  std::string target;

  [[nodiscard]] auto extents() const -> FindExtents {
    return [this](const std::vector<Step>& steps) -> std::optional<std::vector<std::vector<int64_t>>> {
      auto applied = apply_candidate(file, task, prepared, steps);
      return applied.ok() ? std::optional(applied->extents) : std::nullopt;
    };
  }
  [[nodiscard]] auto candidate(const tune::Point& point) const -> std::optional<State> { return candidate_of(initial, sketch, decisions, {point.begin(), point.end()}, options, extents()); }
  /// The trace of a point; the reason against it.
  [[nodiscard]] auto run(const tune::Point& point) const -> Result<tune::TemplateRun> {
    auto state = candidate(point);
    if (!state) { return error(Code::CannotTune).arg("function", task.variable.view()).arg("reason", because(Why::StepOfSketch).text()); }
    LOOPSMITH_TRY(applied, apply_candidate(file, task, prepared, state->steps()));
    return tune::TemplateRun{std::move(applied.trace)};
  }
  [[nodiscard]] auto line(const tune::Point& point, double seconds) const -> std::string {
    auto state = candidate(point);
    if (!state) { return {}; }
    AnsorRecord record;
    record.workload = task.workload;
    record.arguments = task.arguments;
    record.target = target;
    record.steps = state->steps();
    record.gpu = options.gpu;
    if (seconds > 0) { record.seconds = {seconds}; }
    return ansor_line(record);
  }
};

AnsorSearch::AnsorSearch(const Selection& selection, Task task, std::vector<AnsorRecord> preloaded) : selection_(selection), task_(std::move(task)), preloaded_(std::move(preloaded)) {}
AnsorSearch::~AnsorSearch() = default;

namespace {

/// The parameters that a file gives, and those of the device where it gives none.
auto gpu_parameters(const tune::SpaceContext& context, const AskedHardware& asked) -> GpuParameters {
  GpuParameters out;
  if (context.gpu) { out.block_threads = static_cast<int64_t>(context.gpu->limits.block_threads); }
  out.warp = asked.warp_size.value_or(out.warp);
  out.block_threads = asked.max_threads_per_block.value_or(out.block_threads);
  out.virtual_threads = asked.max_vthread_extent.value_or(std::max<int64_t>(1, out.warp / 4));
  return out;
}

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
  auto prepared = prepare(file, task_);
  if (!prepared) { return refused(because(Why::NoTensorsToSchedule).text()); }
  const State initial(*prepared->stages, task_.tensors);
  for (const StateStage& stage : initial.stages()) {
    if (!stage.is_placeholder && !stage.is_compute) { return refused(because(Why::RulesKnowOperations).text()).remedy("use `--space own`"); }
  }
  SketchOptions options{.cores = std::max<int64_t>(1, context.hardware.cores)};
  if (is_gpu_target(selection_.target.kind)) { options.gpu = gpu_parameters(context, asked_hardware(file, task_)); }
  tune::Sketches out;
  open_.clear();
  auto failure = std::make_shared<std::string>();
  const std::vector<SketchRule> own = custom_rules(file, task_, *prepared, failure);
  const std::vector<State> sketches = make_sketches(initial, options, own);
  if (!failure->empty()) { return refused(*failure).remedy("the functions of a rule take the policy, a state and the number of a stage"); }
  for (const State& sketch : sketches) {
    open_.push_back(std::make_shared<const OpenSketch>(OpenSketch{task_, *prepared, initial, sketch, decisions_of(initial, sketch, options), options, file, selection_.target.str()}));
    const std::shared_ptr<const OpenSketch>& open = open_.back();
    std::vector<tune::Knob> knobs;
    for (const Decision& decision : open->decisions) { knobs.push_back({.name = decision.name, .choices = decision.choices}); }
    tune::TemplateCalls calls{.run = [open](const tune::Point& point) { return open->run(point); }, .line = [open](const tune::Point& point, double seconds) { return open->line(point, seconds); }};
    out.push_back(std::make_unique<tune::TemplateSketch>(context, fmt::format("ansor {}", out.size() + 1), std::move(knobs), std::move(calls)));
  }
  return out;
}

auto AnsorSearch::is_of_task(const std::string& line) const -> bool {
  auto records = read_ansor_log("", line);
  return records.ok() && !records->empty() && script::auto_scheduler::is_of_task(records->front(), task_);
}

auto AnsorSearch::known_points() const -> std::vector<tune::KnownPoint> {
  std::vector<tune::KnownPoint> out;
  for (const AnsorRecord& record : preloaded_) {
    for (size_t i = 0; i < open_.size(); ++i) {
      const OpenSketch& open = *open_[i];
      const auto found = choices_of(open.initial, open.sketch, open.decisions, record.steps, open.options, open.extents());
      if (!found) { continue; }
      out.push_back({i, {}, record.mean(), found->is_exact});
      for (size_t choice : found->chosen) { out.back().point.push_back(static_cast<uint16_t>(choice)); }
    }
  }
  return out;
}

}  // namespace loopsmith::driver::commands
