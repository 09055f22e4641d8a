// A mutator that provides, at each node, the domains of the loops and iter vars around and the conditions that hold, and brings indices
// to their simplest affine form under these. After TVM 0.19's IRMutatorWithAnalyzer, so that both print the same text.
#pragma once

#include <utility>
#include <vector>

#include "arith/analyzer.h"
#include "arith/iter_map.h"
#include "ir/ir.h"
#include "ir/visitor.h"

namespace loopsmith::schedule {

class IterContextMutator : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  auto on(const For& n) -> Stmt override;
  auto on(const Block& n) -> Stmt override;
  auto on(const IfThenElse& n) -> Stmt override;
  auto on(const Call& n) -> Expr override;

 protected:
  /// Keeps an index that is a variable, even if the variable can have only one value.
  [[nodiscard]] auto simplify_indices(const std::vector<Expr>& indices) -> std::vector<Expr>;
  arith::Analyzer analyzer_;

 private:
  void enter(const Var& var, const Range& domain);
  /// True if a condition uses a variable of the loops or blocks around. Other conditions do not limit iterators.
  [[nodiscard]] auto is_iter_condition(const Expr& condition) const -> bool;
  arith::IterDomains iters_;
  std::vector<Expr> conditions_;
};

/// A block's accesses and regions in their simplest affine form (TVM's BlockBufferAccessSimplifier).
[[nodiscard]] auto simplify_accesses(const Stmt& stmt) -> Stmt;

}  // namespace loopsmith::schedule
