// An AutoTVM template as a sketch: a knob of the template is a knob, and a point is a run of the template with these choices.
//
// Only a run shows the effect of a choice, because templates may decide by it which steps to take, and what they compute. So the draft runs the template and estimates the
// resulting state. A point that the run refuses has an infinite draft, and is remembered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/trace.h"
#include "tune/space/drafted_sketch.h"

namespace loopsmith::tune {

struct TemplateRun {
  schedule::Trace trace;
  IRModule program = {};   // that the trace schedules; null: that of the space
  /// That the template declares, and its steps name; null: none.
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics = {};
};
struct TemplateCalls {
  /// Runs the template; an error means that the point is not legal.
  std::function<Result<TemplateRun>(const Point&)> run;
  /// The line of `Sketch::log_line`.
  std::function<std::string(const Point&, double seconds)> line;
};

class TemplateSketch final : public DraftedSketch {
 public:
  TemplateSketch(const SpaceContext& context, std::string name, std::vector<Knob> knobs, TemplateCalls calls);

  [[nodiscard]] auto own_program(const Point& point) const -> IRModule override;
  [[nodiscard]] auto apply(schedule::Schedule& sch, const Point& point) const -> Status override;
  [[nodiscard]] auto log_line(const Point& point, double seconds) const -> std::string override { return calls_.line(point, seconds); }
  /// A draft takes a few milliseconds.
  [[nodiscard]] auto population() const -> size_t override { return 16; }

 protected:
  [[nodiscard]] auto prepare_draft(schedule::Schedule& sch, const Point& point) const -> bool override { return apply(sch, point).ok(); }

 private:
  /// The steps of a point; the diagnostics of a point that is not legal.
  [[nodiscard]] auto run_at(const Point& point) const -> const Result<TemplateRun>&;

  TemplateCalls calls_;
  mutable std::map<Point, Result<TemplateRun>> runs_;
};

}  // namespace loopsmith::tune
