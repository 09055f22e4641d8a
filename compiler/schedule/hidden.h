// Blocks that declare no accesses although blocks inside of them access buffers: `loop_partition` makes such blocks, as in TVM, and files may
// contain them. Dependences come from declared accesses, so a primitive that relies on dependences refuses such blocks.
#pragma once

#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// True if a block declares no access, but blocks inside it access buffers that it does not allocate; false for the root block.
[[nodiscard]] auto hides_accesses(const FuncState& func, const Place& block) -> bool;
/// True if `hides_accesses`, and blocks inside access this buffer.
[[nodiscard]] auto hides_access_to(const FuncState& func, const Place& block, const Buffer& buffer) -> bool;

/// Checks an argument of the call: no hidden access forbids the primitive to move or remove a block; and below a loop whose iterations are
/// reordered, the iterations of hiding blocks are independent of each other.
[[nodiscard]] auto require_nothing_hidden(const Context& cx, const PlaceArg& at) -> Status;
/// Checks that no sibling hides an access that forbids the block to move under a loop (null: under any loop).
[[nodiscard]] auto require_free_to_move(const Context& cx, const FuncState& func, const Place& block, const Place* loop) -> Status;
/// For primitives that redirect accesses of one buffer. Checks that no sibling of the block has a hidden write of the buffer; and, if the block
/// writes the buffer, no hidden read.
[[nodiscard]] auto require_buffer_not_hidden(const Context& cx, const Place& block, const Buffer& buffer, bool is_write) -> Status;
/// For a copy that loads indices earlier than the block does. Checks that no sibling of the block has a hidden write of the buffer with these indices.
[[nodiscard]] auto require_no_hidden_writer(const Context& cx, const Place& block, const Buffer& buffer) -> Status;

}  // namespace loopsmith::schedule
