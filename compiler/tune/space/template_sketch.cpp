// Templates as sketches: see template_sketch.h.
#include "tune/space/template_sketch.h"

#include "schedule/trace_json.h"

namespace loopsmith::tune {
TemplateSketch::TemplateSketch(const SpaceContext& context, std::string name, std::vector<Knob> knobs, RunTemplate run, NoteTemplate note)
    : DraftedSketch(context), run_(std::move(run)), note_(std::move(note)) {
  name_ = std::move(name);
  knobs_ = std::move(knobs);
}

auto TemplateSketch::trace_at(const Point& point) const -> const Result<schedule::Trace>& {
  auto at = traces_.find(point);
  return at != traces_.end() ? at->second : traces_.emplace(point, run_(point)).first->second;
}

auto TemplateSketch::apply(schedule::Schedule& sch, const Point& point) const -> Status {
  const Result<schedule::Trace>& trace = trace_at(point);
  if (!trace.ok()) { return trace.diagnostics(); }
  LOOPSMITH_CHECK(sch.replay(*trace));
  if (note_) { note_(point, schedule::trace_to_json(sch.trace())); }
  return ok();
}

auto TemplateSketch::prepare_draft(schedule::Schedule& sch, const Point& point) const -> bool { return apply(sch, point).ok(); }

}  // namespace loopsmith::tune
