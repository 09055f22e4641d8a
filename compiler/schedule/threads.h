// Threads and memories: which iterations run at the same time, and which threads see the same copy of a buffer. The names are in ir/vocabulary.h.
#pragma once

#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "schedule/func_tree.h"
#include "support/name.h"

namespace loopsmith::schedule {

/// True for a loop whose iterations run at the same time, each with separate allocations: parallel, vectorized, or bound to blocks of a grid.
[[nodiscard]] auto runs_at_once(const For& loop) -> bool;

/// True for a loop that is bound to blocks of a grid.
[[nodiscard]] auto is_bound_to_grid(const For& loop) -> bool;

/// True for a loop of several iterations that is bound to the threads of a block.
[[nodiscard]] auto is_bound_to_threads(const For& loop) -> bool;

/// True if several iterations of a loop certainly run the same reduction, so that threads would update its elements at the same time. False for a loop over
/// the terms of the reduction: its threads reduce together. `loops`: those around the block, the outermost first.
[[nodiscard]] auto repeats_reduction(const Domains& loops, const For& loop, const Block& block, const std::vector<Expr>& iter_values, const Expr& predicate) -> bool;

/// True if all threads of an axis see the same copy of a buffer in that memory.
[[nodiscard]] auto is_shared_across(Name storage_scope, Name thread_tag) -> bool;

}  // namespace loopsmith::schedule
