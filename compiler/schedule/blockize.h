// Making a block of a loop and all below it, for primitives that do more with it than blockize does.
#pragma once

#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// The new block, which is to stand in the place of the loop; errors as those of blockize.
[[nodiscard]] auto blockize_loop(const Context& cx, const Value& loop, bool preserve_unit_iters) -> Result<Ref<BlockRealize>>;

}  // namespace loopsmith::schedule
