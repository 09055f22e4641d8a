// The rules of the design space, in the order in which their sketches are listed.
#include <algorithm>

#include "tune/space/sketch.h"

namespace loopsmith::tune {

auto Sketch::size() const -> double {
  double points = 1;
  for (const Knob& knob : knobs_) { points = std::min(1e18, points * static_cast<double>(knob.choices.size())); }
  return points;
}

auto design_space(const SpaceContext& context) -> Sketches {
  Sketches out;
  add_unit_sketches(context, out);
  add_staged_sketches(context, out);
  add_flat_sketches(context, out);
  return out;
}

}  // namespace loopsmith::tune
