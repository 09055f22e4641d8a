// simplify: shortens index arithmetic, and removes constant conditions and loops of one iteration.
//
// Needs   nothing.
// Gives   no new guarantee.
// Keeps   values; real arithmetic as it is written; the same node if nothing changed.
// Place   after passes that substitute (blocks by their bindings, indices by sums), and again at the end.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto simplify(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
