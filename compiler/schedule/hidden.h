// Blocks that declare nothing and yet hold blocks that access buffers: `loop_partition` makes them, as TVM does, and files may hold
// them. Dependences are known from what blocks declare, so a primitive that counts on those keeps off such blocks.
#pragma once

#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// Does a block declare no access, while blocks inside it access buffers that it does not allocate? The root block never does.
[[nodiscard]] auto hides_accesses(const FuncState& func, const Place& block) -> bool;
/// Such a block, and the buffer is one of those.
[[nodiscard]] auto hides_access_to(const FuncState& func, const Place& block, const Buffer& buffer) -> bool;

/// Of an argument of the call: primitives that move or remove what a block computes find no hidden access in its way; those that
/// change the order of a loop's iterations find below the loop only hidden blocks whose iterations do not depend on it.
[[nodiscard]] auto require_nothing_hidden(const Context& cx, const PlaceArg& at) -> Status;
/// No sibling hides an access that forbids the block to move.
[[nodiscard]] auto require_free_to_move(const Context& cx, const FuncState& func, const Place& block) -> Status;
/// For primitives that redirect accesses of one buffer: no sibling of the block hides that it writes the buffer, or reads it
/// where the block writes it.
[[nodiscard]] auto require_buffer_not_hidden(const Context& cx, const Place& block, const Buffer& buffer, bool is_write) -> Status;
/// For a copy that loads indices earlier than the block does: no sibling of the block hides that it writes the buffer they are in.
[[nodiscard]] auto require_no_hidden_writer(const Context& cx, const Place& block, const Buffer& buffer) -> Status;

}  // namespace loopsmith::schedule
