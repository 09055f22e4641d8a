// Roles of loops: see loop_roles.h.
#include "tune/metaschedule/loop_roles.h"

#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::tune::metaschedule {
namespace {

// Counts the uses of a variable in the iter values of the nearest blocks.
class CountUses : public Visitor {
 public:
  using Visitor::on;
  explicit CountUses(const VarNode* var) : var_(var) {}
  int spatial = 0, reduction = 0, other = 0;

  void on(const BlockRealize& n) override {
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      IterKind kind = n.block->iter_vars[i].kind;
      int& count = kind == IterKind::Spatial ? spatial : kind == IterKind::Reduction ? reduction : other;
      post_order(n.iter_values[i], [&](const Expr& e) { count += e.as<VarNode>() == var_ ? 1 : 0; });
    }
  }

 private:
  const VarNode* var_;
};

class FindBlock : public Visitor {
 public:
  using Visitor::on;
  bool found = false;
  void on(const BlockRealize&) override { found = true; }
  void on(const Block&) override { found = true; }
};

}  // namespace

auto role_of(const For& loop) -> LoopRole {
  CountUses uses(loop.var.get());
  uses.visit(loop.body);
  if (uses.other > 0 || (uses.spatial > 0 && uses.reduction > 0)) { return LoopRole::Mixed; }
  return uses.reduction > 0 ? LoopRole::Reduction : LoopRole::Spatial;
}

auto is_bound_to_blocks(const For& loop) -> bool {
  return loop.for_kind == ForKind::ThreadBinding && loop.thread && is_block_axis(loop.thread->thread_tag.view());
}

auto is_bound_to_threads(const For& loop) -> bool {
  return loop.for_kind == ForKind::ThreadBinding && loop.thread && is_thread_axis(loop.thread->thread_tag.view());
}

auto is_single_statement(const Stmt& stmt) -> bool { return stmt.as<SeqStmt>() == nullptr; }

auto contains_block(const Stmt& stmt) -> bool {
  FindBlock find;
  find.visit(stmt);
  return find.found;
}

}  // namespace loopsmith::tune::metaschedule
