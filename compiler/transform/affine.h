// Affine sums and their ranges: the small part of integer reasoning that lowering needs for every access of a
// program, where a prover would be too slow. Nonlinear terms are atoms.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::transform {

/// constant + sum of coefficient * atom. Atoms are variables or other expressions, compared structurally.
struct Affine {
  struct Term {
    Expr atom;
    int64_t coefficient;
  };
  std::vector<Term> terms;
  int64_t constant = 0;
  /// A number overflowed 64 bits and wrapped: the sum is right modulo 2^64, and its range is unknown.
  bool has_wrapped = false;

  [[nodiscard]] auto is_constant() const -> bool { return terms.empty(); }
  [[nodiscard]] auto coefficient_of(const VarNode* var) const -> int64_t;
  void add(const Expr& atom, int64_t coefficient);
  void add(const Affine& other, int64_t factor = 1);
  [[nodiscard]] auto expr(DataType dtype) const -> Expr;
};

[[nodiscard]] auto affine_of(const Expr& expr) -> Affine;

/// The domain of a variable: inclusive ends, themselves affine in outer variables.
struct Interval {
  Affine low, high;
};
struct Domains {
  std::unordered_map<const VarNode*, Interval> of;
  std::vector<const VarNode*> order;   // outermost first

  void push(const VarNode* var, const Expr& min, const Expr& extent);
  void pop();
};

/// A range that contains all values of an expression while the variables in `relaxed` run over their domains, in terms of
/// the other variables; none if no bound is found.
[[nodiscard]] auto interval_of(const Expr& expr, const Domains& domains, const std::unordered_map<const VarNode*, bool>& relaxed)
    -> std::optional<Interval>;

/// Constant ends of an affine sum when all variables run over their domains; none if an end is not constant.
[[nodiscard]] auto constant_min(const Affine& sum, const Domains& domains) -> std::optional<int64_t>;
[[nodiscard]] auto constant_max(const Affine& sum, const Domains& domains) -> std::optional<int64_t>;

/// True unless a number of the sum, or a part of the sum in the order in which `expr` adds it up, is known to overflow the type.
[[nodiscard]] auto fits_type(const Affine& sum, DataType dtype, const Domains& domains) -> bool;

}  // namespace loopsmith::transform
