// Turns a loop and everything below it into a block, for primitives that build on blockize.
#pragma once

#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// The new block, to be put in the place of the loop; the same errors as `blockize`.
[[nodiscard]] auto blockize_loop(const Context& cx, const Value& loop, bool preserve_unit_iters) -> Result<Ref<BlockRealize>>;

}  // namespace loopsmith::schedule
