// Substitution with constant folding, for unrolling and unit loops, where a whole simplifier would be too slow.
// Does not change real arithmetic.
#pragma once

#include "ir/visitor.h"

namespace loopsmith::transform {

/// Replaces variables, folds integer arithmetic and conditions on constants, and drops code under conditions that are
/// false. `copy`: the result is one of several copies, so its loops get fresh ids.
[[nodiscard]] auto fold(const Expr& expr, const VarMap& map = {}) -> Expr;
[[nodiscard]] auto fold(const Stmt& stmt, const VarMap& map = {}, bool copy = false) -> Stmt;

}  // namespace loopsmith::transform
