// The canonical simplifier: index arithmetic as sums of splits, which add up, divide and cancel exactly.
//
//     sum   = split + split + ... + constant
//     split = ((index % upper) / lower) * scale
//
// The rewriting simplifier handles all expressions other than sums, products, quotients and remainders.
#pragma once

#include <memory>
#include <optional>

#include "arith/rewrite.h"

namespace loopsmith::arith {

/// A product with its constant factor last.
[[nodiscard]] auto multiply_normalized(const Expr& a, const Expr& b) -> Expr;

class CanonicalSimplifier final : public Rewriter {
 public:
  explicit CanonicalSimplifier(Analyzer::State& state) : Rewriter(state) { knows_literals_ = false; }
  [[nodiscard]] auto simplify(const Expr& expr) -> Expr;
  [[nodiscard]] auto visit(const Expr& expr) -> Expr override;

 private:
  enum class Mode : uint8_t { Trunc, Floor };
  struct Split;
  struct Sum;
  class Form;      // an expression, a split or a sum

  auto mutate(const Expr& expr) -> Form;
  auto one_by_one(const Expr& expr) -> Expr;
  auto sum_of(const Expr& expr, bool negative) -> Form;
  auto product(const Expr& expr) -> Form;
  auto quotient(const Expr& expr, Mode mode) -> Form;
  auto remainder(const Expr& expr, Mode mode) -> Form;
  auto conversion(const Expr& expr) -> Form;
  auto less_than(const Expr& expr) -> Form;
  auto divide(Split split, int64_t value, Mode mode) -> Split;
  auto take_remainder(Split split, int64_t value, Mode mode) -> Split;
  auto is_never_negative(const Sum& sum) -> bool;
  auto vanishes_with(const Split& term, const Expr& rest, int64_t factor) -> bool;
  auto fits(DataType dtype, const Expr& value) -> bool;
  auto can_cast(const Split& split, DataType dtype) -> bool;
  auto can_cast(const Sum& sum, DataType dtype) -> bool;
};

}  // namespace loopsmith::arith
