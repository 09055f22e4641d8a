// Conditions on indices under loops, for the passes that specialize code for the case that the conditions hold.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/visitor.h"
#include "transform/affine.h"

namespace loopsmith::transform {

/// Adds the parts of a conjunction, without `likely` around them.
void conjuncts(const Expr& condition, std::vector<Expr>& out);

struct FoundCondition {
  Expr condition;                            // a comparison, one of a conjunction
  Domains domains;                           // of all loops around its place
  std::unordered_set<const VarNode*> inner;  // loops between the searched body and the condition
};

/// Finds the comparisons by < <= > >= that statements and `if_then_else` of a body depend on, and facts about the body.
class FindConditions : public Visitor {
 public:
  explicit FindConditions(const Domains& around) : domains_(around) {}
  using Visitor::on;
  using Visitor::visit;
  std::vector<FoundCondition> found;
  int64_t statements = 0;
  int64_t written_out = 0;                      // the number of statements after unrolling
  std::unordered_set<const VarNode*> defined;   // variables of the body: loops and lets
  bool leaves = false;                          // the body contains a `break` or a `continue`

  void on(const For& n) override;
  void on(const IfThenElse& n) override;
  void on(const Call& n) override;
  void on(const BufferStore& n) override;
  void on(const Evaluate& n) override;
  void on(const LetStmt& n) override;
  void on(const Let& n) override;
  void on(const Break& n) override;
  void on(const Continue& n) override;

 private:
  void take(const Expr& condition);
  Domains domains_;
  std::unordered_set<const VarNode*> inner_;
  int64_t repeated_ = 1;
};

/// The statement with the comparisons in `holds` (by identity of nodes) replaced by true.
[[nodiscard]] auto assuming(const Stmt& stmt, const std::unordered_set<const ExprNode*>& holds) -> Stmt;

}  // namespace loopsmith::transform
