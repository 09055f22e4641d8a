// Which matrix and dot-product units fit a function, and the reasons why others do not.
#pragma once

#include <string>
#include <vector>

#include "tune/space/sketch.h"

namespace loopsmith::tune {

/// A unit beside the block with the most work.
struct UnitFit {
  std::string unit;      // "tiles of bfloat16"
  std::string block;
  std::string why_not;   // the first place where block and unit differ; empty: the unit fits
};

/// For all units, those that the processor lacks included. Empty: the function has no reduction.
[[nodiscard]] auto unit_fits(const SpaceContext& context) -> std::vector<UnitFit>;

}  // namespace loopsmith::tune
