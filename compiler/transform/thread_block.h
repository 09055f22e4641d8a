// Thread blocks in flat programs: loops and `launch_thread`s over threadIdx, and the places where threads wait for each other. Shared by
// the two passes that lower threads; interp/threads.h defines the meaning.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::transform {

/// A thread-bound loop, or an attribute that launches threads.
struct ThreadLoop {
  Name tag;          // "threadIdx.x", "blockIdx.y", "vthread"
  Var var;           // its index
  Var alias;         // another variable for the same index; may be null
  Expr extent;
  Stmt body;
};
[[nodiscard]] auto as_thread_loop(const Stmt& stmt) -> std::optional<ThreadLoop>;
[[nodiscard]] auto is_thread_index(Name tag) -> bool;   // threadIdx, not blockIdx or vthread

/// True for barriers, reductions across threads and exchanges within a warp.
[[nodiscard]] auto is_barrier(const Stmt& stmt) -> bool;
[[nodiscard]] auto is_reduction(const Stmt& stmt) -> bool;
[[nodiscard]] auto is_exchange(const Expr& expr) -> bool;
/// True when the statement contains one of them.
[[nodiscard]] auto waits(const Stmt& stmt) -> bool;

/// True for calls that the threads of a warp execute together: matrix units, copies and exchanges.
[[nodiscard]] auto is_collective(const Expr& expr) -> bool;

/// True where two iterations of a loop over threads give an index one value, as for a loop that drives the element and the terms of its sum. Tries iterations of
/// the loops inside, outermost first, a spread of them if there are many; `known`: values of variables; other variables count as 0. `conditions`: of the
/// access. False where the index has no value that is known here.
[[nodiscard]] auto meets_in_iterations(const Var& of, const Expr& extent, const std::vector<const For*>& inside, const VarMap& known, const std::vector<Expr>& conditions, const Expr& index)
    -> bool;

/// The threads of a block: every dimension that a loop in the block binds, the outermost first. Thread t has index
/// t // (product of the extents before) % extent in a dimension.
struct ThreadBlock {
  struct Dimension { Name tag; Expr extent; };
  std::vector<Dimension> dimensions;

  explicit ThreadBlock(const Stmt& outermost);
  [[nodiscard]] auto find(Name tag) const -> std::optional<size_t>;
  [[nodiscard]] auto count() const -> Expr;
  /// The distance in thread numbers between neighbours in a dimension.
  [[nodiscard]] auto stride(size_t dimension) const -> Expr;
};

}  // namespace loopsmith::transform
