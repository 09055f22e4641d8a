// Facts about a block that decide which rules apply to it. The definitions are TVM's.
#pragma once

#include <string>
#include <vector>

#include "schedule/state.h"

namespace loopsmith::tune::rules {

using schedule::FuncState;
using schedule::Place;

/// True for a block with the annotation that multi-level tiling leaves.
[[nodiscard]] auto is_tiled(const Block& block) -> bool;
/// True where all iter vars of a block are spatial.
[[nodiscard]] auto is_spatial(const Block& block) -> bool;
/// The same for all blocks of a function.
[[nodiscard]] auto is_spatial(const PrimFunc& func) -> bool;
/// True where the iter vars of a block are the variables of the loops around it, in their order.
[[nodiscard]] auto has_trivial_binding(const FuncState& func, const Place& block) -> bool;

/// True for a reduction that reads an element several times, so that tiles of it are worth keeping in a near memory.
[[nodiscard]] auto needs_multi_level_tiling(const FuncState& func, const Place& block) -> bool;
/// True for a reduction with too little spatial work for the cores or threads.
[[nodiscard]] auto needs_rfactor_or_cross_thread_reduction(const FuncState& func, const Place& block, int64_t max_parallel_extent, int64_t max_parallel_basic)
    -> bool;

/// The correspondence between the indices of a read and those of a write, where each read index is a write index plus a constant.
struct ReadWritePattern { bool exists = false, injective = false, ordered = false; };
[[nodiscard]] auto read_write_pattern(const BufferRegion& read, const BufferRegion& write) -> ReadWritePattern;
/// True for a block that only copies elements from one buffer to another.
[[nodiscard]] auto is_write_cache(const Block& block) -> bool;

[[nodiscard]] auto calls_any(const Stmt& stmt, const std::vector<std::string>& ops) -> bool;
/// True where a statement has a predicate, `if`, `select` or `if_then_else`.
[[nodiscard]] auto has_branch(const Stmt& stmt) -> bool;

}  // namespace loopsmith::tune::rules
