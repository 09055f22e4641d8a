// Thread axes and storage scopes: which threads share a memory.
#pragma once

#include <optional>
#include <string_view>

#include "ir/ir.h"
#include "support/name.h"

namespace loopsmith::schedule {

/// "threadIdx.x": rank 1, dimension 0. "vthread": rank 1, dimension -1. "blockIdx.y": rank 0, dimension 1.
struct ThreadScope { int rank = -1; int dimension = -1; };
[[nodiscard]] auto thread_scope(Name tag) -> std::optional<ThreadScope>;

/// The place of a memory in the hierarchy: 0 global, 1 shared, 2 warp, 3 local, more for matrix units.
[[nodiscard]] auto storage_rank(Name scope) -> std::optional<int>;

/// Do iterations run at the same time, each with what it allocates for its own: parallel ones, lanes, blocks of a grid?
[[nodiscard]] auto runs_at_once(const For& loop) -> bool;

/// Do all threads of an axis see one copy of a buffer in that memory?
[[nodiscard]] auto is_shared_across(Name storage_scope, Name thread_tag) -> bool;

}  // namespace loopsmith::schedule
