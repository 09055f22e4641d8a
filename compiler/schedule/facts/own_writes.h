// Blocks that read elements which they store themselves. Follows the stores that a block's body certainly makes, in their order, and
// finds out if each load reads an element that the same instance stored before.
#pragma once

#include <vector>

#include "ir/ir.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// Boxes of elements that each instance of the block certainly stores, in terms of its iter vars. Does not enter blocks inside.
[[nodiscard]] auto certain_stores(const Block& block, const Buffer& buffer) -> std::vector<BufferRegion>;

/// True if every load of the buffer in an instance of the block reads an element that the same instance has certainly stored before, so
/// that no instance reads a value from before it ran. By proof; else by running all instances where they are few.
[[nodiscard]] auto reads_own_writes_only(const FuncTree& func, const Place& block, const Buffer& buffer) -> bool;

}  // namespace loopsmith::schedule
