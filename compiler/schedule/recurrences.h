// Recurrences, such as `te.scan` makes them: a block with an iter var that runs in order, `S[t, i] = S[t - 1, i] + X[t, i]`. Its other loops may run in any order where no
// iteration touches elements of another one.
#pragma once

#include "schedule/state.h"

namespace loopsmith::schedule {

/// True when the only block below the loop has an iter var that runs in order, the loop feeds one spatial iter var, with other values in other iterations, and every access to a
/// buffer that the block writes has that iter var as the index of one common dimension. Then iterations of the loop touch different elements.
[[nodiscard]] auto is_apart_in_recurrence(const FuncState& func, const Place& loop) -> bool;

}  // namespace loopsmith::schedule
