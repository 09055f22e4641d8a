// Threads of a block, as a flat program has them: loops and `launch_thread`s over threadIdx, and where their threads wait for each
// other. What the two passes that take them apart share; the meaning is the interpreter's (interp/threads.h).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::transform {

/// A loop bound to an index of a machine, or an attribute that launches one.
struct ThreadLoop {
  Name tag;          // "threadIdx.x", "blockIdx.y", "vthread"
  Var var;           // its index
  Var alias;         // another name of it; may be none
  Expr extent;
  Stmt body;
};
[[nodiscard]] auto as_thread_loop(const Stmt& stmt) -> std::optional<ThreadLoop>;
[[nodiscard]] auto is_thread_index(Name tag) -> bool;   // threadIdx, in contrast to blocks and virtual threads

/// Barriers, reductions across threads, exchanges within a warp.
[[nodiscard]] auto is_barrier(const Stmt& stmt) -> bool;
[[nodiscard]] auto is_reduction(const Stmt& stmt) -> bool;
[[nodiscard]] auto is_exchange(const Expr& expr) -> bool;
/// Is there one of them below?
[[nodiscard]] auto waits(const Stmt& stmt) -> bool;

/// The threads of a block: every dimension that is bound anywhere in it, the outermost first. Thread t has index
/// t // (product of the extents before) % extent in a dimension.
struct ThreadBlock {
  struct Dimension { Name tag; Expr extent; };
  std::vector<Dimension> dimensions;

  explicit ThreadBlock(const Stmt& outermost);
  [[nodiscard]] auto find(Name tag) const -> std::optional<size_t>;
  [[nodiscard]] auto count() const -> Expr;
  /// Threads between neighbours in a dimension.
  [[nodiscard]] auto stride(size_t dimension) const -> Expr;
};

}  // namespace loopsmith::transform
