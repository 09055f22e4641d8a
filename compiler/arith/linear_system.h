// Systems of linear equations and inequalities over integer variables with constant coefficients. Other terms (symbolic
// extents, other iterators) are symbolic constants.
//
//     2 * i + 3 * j == n              i = f * 3 - n,  j = n - f * 2        for every integer f
//     0 <= i, i + 2 * j < n           i in [0, n - 1 - j * 2],  j <= (n - 1) // 2
//
// Equations are solved by unimodular column operations, inequalities by Fourier-Motzkin elimination. There is no result if
// the system is not linear or grows beyond a limit; it may still have solutions.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "arith/analyzer.h"

namespace loopsmith::arith {

/// The sum of coefficients[i] * variables[i], plus `rest`, which contains none of the variables.
struct LinearForm {
  std::vector<int64_t> coefficients;
  Expr rest;
};
[[nodiscard]] auto detect_linear(const Expr& expr, const std::vector<Var>& variables, Analyzer& analyzer) -> std::optional<LinearForm>;

/// All solutions of equations: one for every choice of integers for the free variables, if the conditions hold.
struct EquationSolution {
  std::vector<Var> free;                                   // new variables for the remaining degrees of freedom
  std::unordered_map<const VarNode*, Expr> values;         // of each variable, in terms of the free ones
  std::vector<Expr> free_values;                           // the value of each free variable, in terms of the variables
  std::vector<Expr> conditions;                            // on the rest; constant false: no solution exists
};
/// `equations`: conditions a == b.
[[nodiscard]] auto solve_linear_equations(const std::vector<Var>& variables, const std::vector<Expr>& equations, Analyzer& analyzer)
    -> std::optional<EquationSolution>;

/// lower[0], lower[1] ... <= variable <= upper[0], upper[1] ..., in terms of the variables that follow it.
struct VariableBounds {
  Var variable;
  std::vector<Expr> lower, upper;
};
/// A point solves the system exactly if it is within all bounds and the conditions hold. Bounds are in the order of the
/// variables. The conditions are necessary for a solution; they are not sufficient if coefficients other than 1 and -1 were
/// eliminated.
struct InequalitySolution {
  std::vector<VariableBounds> bounds;
  std::vector<Expr> conditions;
};
/// `conditions`: comparisons, equations among them.
[[nodiscard]] auto solve_linear_inequalities(const std::vector<Var>& variables, const std::vector<Expr>& conditions, Analyzer& analyzer)
    -> std::optional<InequalitySolution>;

}  // namespace loopsmith::arith
