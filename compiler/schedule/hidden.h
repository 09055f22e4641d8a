// Blocks that declare no accesses though blocks inside of them access buffers: `loop_partition` makes them, as in TVM, and files may have
// them. Dependences come from declared accesses, so a primitive that relies on dependences refuses such blocks.
#pragma once

#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// True where a block declares no access, while blocks inside it access buffers that it does not allocate; false for the root block.
[[nodiscard]] auto hides_accesses(const FuncState& func, const Place& block) -> bool;
/// True for such a block if blocks inside it access this buffer.
[[nodiscard]] auto hides_access_to(const FuncState& func, const Place& block, const Buffer& buffer) -> bool;

/// For an argument of the call: no hidden access forbids a primitive to move or remove a block; below a loop whose iterations are
/// reordered, iterations of hiding blocks do not depend on it.
[[nodiscard]] auto require_nothing_hidden(const Context& cx, const PlaceArg& at) -> Status;
/// No sibling hides an access that forbids the block to move under a loop (null: anywhere).
[[nodiscard]] auto require_free_to_move(const Context& cx, const FuncState& func, const Place& block, const Place* loop) -> Status;
/// For primitives that redirect accesses of one buffer: no sibling of the block has a hidden write of the buffer, or a hidden read
/// where the block writes it.
[[nodiscard]] auto require_buffer_not_hidden(const Context& cx, const Place& block, const Buffer& buffer, bool is_write) -> Status;
/// For a copy that loads indices earlier than the block does: no sibling of the block has a hidden write of the buffer of these indices.
[[nodiscard]] auto require_no_hidden_writer(const Context& cx, const Place& block, const Buffer& buffer) -> Status;

}  // namespace loopsmith::schedule
