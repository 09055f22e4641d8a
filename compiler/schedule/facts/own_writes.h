// An instance of a block that reads what it stores: the elements of a buffer that the statements of its body certainly store, in their order, and
// whether each load finds an element that the same instance stored before.
#pragma once

#include <vector>

#include "ir/ir.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// Boxes of elements that each instance of the block certainly stores, in terms of its iter vars. Blocks inside of it are not entered.
[[nodiscard]] auto certain_stores(const Block& block, const Buffer& buffer) -> std::vector<BufferRegion>;

/// True where every load of the buffer in an instance of the block finds an element that the same instance has certainly stored before it, so
/// that no value from before the instance is read. By proof, else by running all instances where they are few.
[[nodiscard]] auto reads_own_writes_only(const FuncTree& func, const Place& block, const Buffer& buffer) -> bool;

}  // namespace loopsmith::schedule
