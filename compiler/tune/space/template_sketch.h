// An AutoTVM template as a sketch: a knob of the template is a knob, and a point is a run of the template with these choices.
//
// Only a run shows the effect of a choice, because templates may decide by it which steps to take. So the draft runs the template and estimates the resulting
// state. A point that the run refuses has an infinite draft, and is remembered.
#pragma once

#include <functional>
#include <map>

#include "schedule/trace.h"
#include "tune/space/drafted_sketch.h"

namespace loopsmith::tune {

/// Runs the template; an error means that the point is not legal.
using RunTemplate = std::function<Result<schedule::Trace>(const Point&)>;
/// Is called with the trace that a point has as a candidate, in TVM's JSON.
using NoteTemplate = std::function<void(const Point&, const std::string& trace)>;

class TemplateSketch final : public DraftedSketch {
 public:
  TemplateSketch(const SpaceContext& context, std::string name, std::vector<Knob> knobs, RunTemplate run, NoteTemplate note);

  [[nodiscard]] auto apply(schedule::Schedule& sch, const Point& point) const -> Status override;
  /// A draft takes a few milliseconds.
  [[nodiscard]] auto population() const -> size_t override { return 16; }

 protected:
  [[nodiscard]] auto prepare_draft(schedule::Schedule& sch, const Point& point) const -> bool override;

 private:
  /// The steps of a point; the diagnostics of a point that is not legal.
  [[nodiscard]] auto trace_at(const Point& point) const -> const Result<schedule::Trace>&;

  RunTemplate run_;
  NoteTemplate note_;
  mutable std::map<Point, Result<schedule::Trace>> traces_;
};

}  // namespace loopsmith::tune
