// The rewriting simplifier: it applies rules from the leaves upwards, and the analyses decide the rules' conditions.
#pragma once

#include "arith/state.h"

namespace loopsmith::arith {

/// The operator of this kind with constants folded.
[[nodiscard]] auto make_binary(NodeKind kind, Expr a, Expr b) -> Expr;
/// The node without folding.
[[nodiscard]] auto make_raw(NodeKind kind, Expr a, Expr b) -> Expr;
/// The folded operator: a constant or one of the operands; null if it does not fold.
[[nodiscard]] auto try_fold(NodeKind kind, const Expr& a, const Expr& b) -> Expr;

/// The result, with the origin of the replaced expression if the result is a new node without an origin.
[[nodiscard]] auto with_origin(Expr result, const Expr& replaced) -> Expr;

class Rewriter {
 public:
  explicit Rewriter(Analyzer::State& state) : state_(state) {}
  virtual ~Rewriter() = default;

  /// Rewrites an expression, and then its result once more.
  [[nodiscard]] auto run(const Expr& expr) -> Expr;

  [[nodiscard]] virtual auto visit(const Expr& expr) -> Expr;
  /// Rewrites a rule's result, to a limited depth, so that rules cannot undo each other forever.
  [[nodiscard]] auto again(const Expr& expr) -> Expr;
  [[nodiscard]] auto compare(const Expr& a, const Expr& b) -> Order;
  [[nodiscard]] auto compare(const Expr& a, int64_t value) -> Order;
  [[nodiscard]] auto prove_equal(const Expr& e, int64_t value) -> bool { return compare(e, value) == Order::EQ; }
  [[nodiscard]] auto prove_ge(const Expr& e, int64_t value) -> bool { return state_.owner->can_prove_greater_equal(e, value); }
  [[nodiscard]] auto state() -> Analyzer::State& { return state_; }

 protected:
  /// Rewrites one node; visits its operands first.
  [[nodiscard]] auto rewrite(const Expr& expr) -> Expr;
  Analyzer::State& state_;
  bool knows_literals_ = true;      // uses conditions that are literally among the facts

 private:
  auto rewrite_kind(const Expr& expr) -> Expr;
  auto arithmetic(const Expr& expr) -> Expr;
  auto equality(const Expr& expr) -> Expr;
  auto inequality(const Expr& expr) -> Expr;
  auto less_than(const Expr& expr) -> Expr;
  auto less_or_equal(const Expr& expr) -> Expr;
  auto negation(const Expr& expr) -> Expr;
  auto connective(const Expr& expr) -> Expr;
  auto selection(const Expr& expr) -> Expr;
  auto call(const Expr& expr) -> Expr;
  auto let(const Expr& expr) -> Expr;
  auto operands(const Expr& expr) -> Expr;
  auto from_eq_rules(const Expr& expr) -> Expr;
  auto from_lt_rules(const Expr& expr) -> Expr;
  auto from_not_rules(const Expr& expr) -> Expr;
  auto compare_product_and_sum(const Expr& a, const Expr& b) -> Order;
  /// True or false if the condition or its negation is literally among the facts; else null.
  auto literally(const Expr& condition) -> Expr;
  bool inside_boolean_ = false;     // within the operands of a connective
  int recursion_ = 0;
};

}  // namespace loopsmith::arith
