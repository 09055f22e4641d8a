// A sketch whose drafts build the schedule of a point and estimate its state, because no closed form is known. Drafts are remembered.
#pragma once

#include <map>

#include "tune/space/sketch.h"

namespace loopsmith::tune {

class DraftedSketch : public Sketch {
 public:
  [[nodiscard]] auto draft(const Point& point) const -> double final;
  /// The numbers of the choices, and the draft.
  [[nodiscard]] auto features(const Point& point) const -> std::vector<double> final;

 protected:
  explicit DraftedSketch(const SpaceContext& context)
      : module_(context.module), function_(context.function), core_(context.core), gpu_(context.gpu), is_over_(context.is_over) {}
  /// Makes the state that a draft looks at, beginning with the program. False: the point is not worth measuring, or not legal.
  [[nodiscard]] virtual auto prepare_draft(schedule::Schedule& sch, const Point& point) const -> bool = 0;
  /// A quick reason not to draft a point at all.
  [[nodiscard]] virtual auto is_out_of_question(const Point& /*point*/) const -> bool { return false; }

  IRModule module_;
  Name function_;
  CoreModel core_;
  std::optional<cost::GpuModel> gpu_;

 private:
  std::function<bool()> is_over_;
  mutable std::map<Point, double> drafts_;
};

}  // namespace loopsmith::tune
