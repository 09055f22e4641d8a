// Threads and memories: which iterations run at the same time, and which threads see the same copy of a buffer. The names are in ir/vocabulary.h.
#pragma once

#include <string_view>

#include "ir/ir.h"
#include "support/name.h"

namespace loopsmith::schedule {

/// True for a loop whose iterations run at the same time, each with separate allocations: parallel, vectorized, or bound to blocks of a grid.
[[nodiscard]] auto runs_at_once(const For& loop) -> bool;

/// True for a loop that is bound to blocks of a grid.
[[nodiscard]] auto is_bound_to_grid(const For& loop) -> bool;

/// True if all threads of an axis see the same copy of a buffer in that memory.
[[nodiscard]] auto is_shared_across(Name storage_scope, Name thread_tag) -> bool;

}  // namespace loopsmith::schedule
