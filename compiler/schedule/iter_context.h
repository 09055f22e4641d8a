// A mutator that knows, wherever it is, what the loops and iter vars around run over and which conditions hold, and brings indices
// to their simplest affine form under them. After TVM 0.19's IRMutatorWithAnalyzer; what it prints is the reference's text.
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
  /// An index that is a variable stays one where it can have one value only.
  [[nodiscard]] auto simplify_indices(const std::vector<Expr>& indices) -> std::vector<Expr>;
  arith::Analyzer analyzer_;

 private:
  void enter(const Var& var, const Range& domain);
  /// Is there a variable of the loops or blocks around in it? Others are no conditions on iterators.
  [[nodiscard]] auto is_iter_condition(const Expr& condition) const -> bool;
  arith::IterDomains iters_;
  std::vector<Expr> conditions_;
};

/// A block's accesses and regions in their simplest affine form (TVM's BlockBufferAccessSimplifier).
[[nodiscard]] auto simplify_accesses(const Stmt& stmt) -> Stmt;

}  // namespace loopsmith::schedule
