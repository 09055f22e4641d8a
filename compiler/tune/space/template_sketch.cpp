// Templates as sketches: see template_sketch.h.
#include "tune/space/template_sketch.h"

namespace loopsmith::tune {
TemplateSketch::TemplateSketch(const SpaceContext& context, std::string name, std::vector<Knob> knobs, TemplateCalls calls) : DraftedSketch(context), calls_(std::move(calls)) {
  name_ = std::move(name);
  knobs_ = std::move(knobs);
}

auto TemplateSketch::run_at(const Point& point) const -> const Result<TemplateRun>& {
  auto at = runs_.find(point);
  return at != runs_.end() ? at->second : runs_.emplace(point, calls_.run(point)).first->second;
}

auto TemplateSketch::own_program(const Point& point) const -> IRModule {
  const Result<TemplateRun>& run = run_at(point);
  return run.ok() ? run->program : IRModule();
}

auto TemplateSketch::apply(schedule::Schedule& sch, const Point& point) const -> Status {
  const Result<TemplateRun>& run = run_at(point);
  if (!run.ok()) { return run.diagnostics(); }
  if (run->intrinsics) { sch.use_intrinsics(run->intrinsics); }
  return sch.replay(run->trace);
}

}  // namespace loopsmith::tune
