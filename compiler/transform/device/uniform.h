// Values and ways that all threads of a block have in common. Barriers may stand only where all threads come.
//
//     t = T.launch_thread("threadIdx.x", 64)
//     if flag[0] > 0:              the same for all threads: one element of shared or global memory
//     if x[t] > 0:                 differs: the index depends on the thread
//     n[0] = k * 2                 local memory has one value for all threads if all stores to it do
//
// Loads of one element of shared or global memory give all threads the same value, unless they race with a store; races are a matter of the
// interpreter and of `check`. The same question about the threads of one dimension alone finds memory that each of them fills with the same values.
#pragma once

#include <unordered_set>

#include "ir/ir.h"
#include "ir/visitor.h"

namespace loopsmith::transform {

class Uniform {
 public:
  /// `dimension`: the tag of the only dimension whose threads are compared; empty: all threads of a block.
  explicit Uniform(const Stmt& kernel, Name dimension = {});
  /// True for a value that is the same for all threads of a block. Null counts as one.
  [[nodiscard]] auto is_uniform(const Expr& e) const -> bool;
  /// A `break` or `continue` of the loop with this body that some threads take and others do not; null if there is none.
  [[nodiscard]] auto jump_apart(const Stmt& body) const -> const StmtNode*;
  /// True for memory in which every store of the kernel puts one value at one place, whichever thread executes it, and which no store reads: with one array for
  /// all threads, a thread overwrites an element with the value that it has.
  [[nodiscard]] auto is_filled_alike(const Stmt& kernel, const VarNode& data) const -> bool;

 private:
  class Spread;
  class Fills;
  Name dimension_;
  std::unordered_set<const VarNode*> different_;   // variables, and local memory by its data variable
  std::unordered_set<const VarNode*> own_;         // memory of a single thread
};

/// Walks a kernel, and knows the statements that only some threads reach, or that some reach more often than others: those in branches and loops that
/// depend on the thread.
class WalkApart : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  void on(const For& n) override;
  void on(const While& n) override;
  void on(const IfThenElse& n) override;

 protected:
  explicit WalkApart(const Uniform& known) : known_(known) {}
  const Uniform& known_;
  bool is_apart_ = false;          // only some threads reach the statement here, or some reach it more often
};

}  // namespace loopsmith::transform
