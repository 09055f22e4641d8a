// The elements that a block certainly writes. A block may declare more than it writes: conditions, predicates and triangles leave holes.
#pragma once

#include "ir/ir.h"
#include "ir/visitor.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// The part of a declared region that an instance of the block certainly writes. A block may declare more than it writes (a part of a partitioned loop
/// declares all of the loop's region). If the body stores a single element, the result is that element.
[[nodiscard]] auto certain_write(const Block& block, const BufferRegion& declared) -> BufferRegion;

/// True if a block certainly writes all of a region while the loops below `above` run. `once`: values of loops further out; a condition that
/// decides about all instances at once need only hold for these values (empty: it must hold always). Threads that share the memory write
/// together, except threads around `made_in`: each of these has its own copy of the memory that is allocated there (null: there are none).
[[nodiscard]] auto certainly_writes(const FuncTree& func, const Place& block, const BufferRegion& write, const Place* above, const BufferRegion& region,
                                    const VarMap& once = {}, const Place* made_in = nullptr) -> bool;

}  // namespace loopsmith::schedule
