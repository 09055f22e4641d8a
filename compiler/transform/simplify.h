// simplify: shorter index arithmetic, conditions that always hold or never do, loops of one iteration.
//
// Needs   nothing.
// Gives   nothing new.
// Keeps   values; real arithmetic as it is written; the same node where nothing changed.
// Place   after passes that substitute (blocks by their bindings, indices by sums), and again at the end.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto simplify(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
