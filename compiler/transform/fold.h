// Substitution that folds integer constants as it goes: what unrolling and unit loops need, where a whole
// simplifier would be too slow. Real arithmetic is left as it is.
#pragma once

#include "ir/visitor.h"

namespace loopsmith::transform {

/// Replaces variables, folds integer arithmetic and conditions on constants, drops what a constant condition
/// excludes. Loops get fresh ids where `copy` says that this is one of several copies.
[[nodiscard]] auto fold(const Expr& expr, const VarMap& map = {}) -> Expr;
[[nodiscard]] auto fold(const Stmt& stmt, const VarMap& map = {}, bool copy = false) -> Stmt;

}  // namespace loopsmith::transform
