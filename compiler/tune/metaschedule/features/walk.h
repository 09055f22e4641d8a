// A walk over a scheduled function as if its blocks were plain statements: iter vars stand for their values, and the bound loops of a kernel for one loop
// per axis around the whole kernel. The function itself is not rewritten.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/ir.h"
#include "ir/visitor.h"
#include "tune/metaschedule/features/locations.h"
#include "tune/metaschedule/features/loop_nest.h"

namespace loopsmith::tune::metaschedule {

class Walk : public Visitor {
 public:
  using Visitor::on;
  explicit Walk(const AllocationsByPlace& allocations) : allocations_(allocations) {}

  void on(const For& n) override;
  void on(const BlockRealize& n) override;

 protected:
  /// Called with a loop before and after its body.
  virtual void enter_loop(const For&) {}
  /// Called within the place of an allocation, before and after the statements there.
  virtual void enter_allocation(const Buffer&) {}
  virtual void leave_allocation(const Buffer&) {}
  /// Called with the source of each view of a block, in terms of loops.
  virtual void view(const Buffer&, const Array<Range>&) {}
  /// Walks a statement under a condition in terms of loops.
  virtual void under(const Expr& condition, const Stmt& stmt);

  /// The expression in terms of loops, without iter vars of blocks.
  [[nodiscard]] auto outside_blocks(const Expr& expr) const -> Expr { return substitute(expr, values_); }

  LoopNest nest_;
  std::vector<Expr> conditions_;                                    // around the statement
  struct View { Buffer source; Array<Range> region; };
  std::unordered_map<const BufferNode*, View> views_;

 private:
  void open_kernel(const For& outermost);
  void inside(const StmtNode* place, const Stmt& body);

  const AllocationsByPlace& allocations_;
  VarMap values_;
  bool in_kernel_ = false;
  std::vector<Stmt> made_;                                          // loops of kernels
};

}  // namespace loopsmith::tune::metaschedule
