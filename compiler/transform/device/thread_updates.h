// Updates of elements that the threads of a loop make together, as `C[0] = C[0] + A[tx]`: the terms of a reduction over threads.
#pragma once

#include <vector>

#include "ir/ir.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {

/// `element = element op value`.
struct Update {
  const BufferStore* store = nullptr;
  NodeKind op = NodeKind::Add;
  Expr value;
  Expr condition;                  // the conditions around it that are the same for all threads of the loop; null: always true
};

struct ThreadUpdates {
  std::vector<Update> updates;
  bool can_be_split = true;        // all of them, each into a part per thread
};
/// Finds the updates of elements in the body of a loop over threads that are the same for all its threads.
[[nodiscard]] auto find_thread_updates(const ThreadLoop& loop) -> ThreadUpdates;

/// True if two of the updates change the same memory.
[[nodiscard]] auto is_updated_twice(const std::vector<Update>& updates) -> bool;
/// True when an element is also loaded outside of its update, or stored by several threads of the loop, as by an init that every instance of a block repeats.
[[nodiscard]] auto is_used_elsewhere(const ThreadLoop& loop, const std::vector<Update>& updates) -> bool;

/// The statement of a loop over threads with another body.
[[nodiscard]] auto with_thread_body(const Stmt& stmt, const ThreadLoop& loop, Stmt body) -> Stmt;

}  // namespace loopsmith::transform
