// Updates of elements that the threads of a loop make together, as `C[0] = C[0] + A[tx]`: the terms of a reduction over threads.
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {

/// The operators of reductions that threads make in parts.
enum class Combiner : uint8_t { Sum, Product, Minimum, Maximum, BitwiseAnd, BitwiseOr, BitwiseXor, And, Or };

/// `element = element op value`.
struct Update {
  const BufferStore* store = nullptr;
  Combiner op = Combiner::Sum;
  Expr value;
  Expr condition;                  // the conditions around it that are the same for all threads of the loop; null: always true
};

/// An update of several elements together that keeps them or takes other values for all, as an argmax does:
///
///     i = Select(V[0] >= A[tx], I[0], tx);  v = Select(V[0] >= A[tx], V[0], A[tx]);  I[0] = i;  V[0] = v
struct Choice {
  std::vector<const BufferStore*> stores;
  std::vector<Expr> first;         // for each element, the value from which a thread begins: that of an init in the loop, or the element
  std::vector<Var> kept, taken;    // for each element, the variables of `keeps`: its value, and the other one
  Expr keeps;                      // true where the elements keep their values
  Expr condition;                  // as in Update
};

struct ThreadUpdates {
  std::vector<Update> updates;
  bool can_be_split = true;        // all of them, each into a part per thread
  std::optional<Choice> choice;    // all of them are one choice
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
