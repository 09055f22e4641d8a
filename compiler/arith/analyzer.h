// Proofs about integer expressions: bounds, divisibility, simplification, comparison.
//
// An Analyzer holds facts: the domains or values of variables (`bind`), and conditions that hold now
// (`enter`, undone when the returned scope ends). It answers all questions under these facts.
// Answers follow Apache TVM 0.19, in results and in their form: `simplify` alternates a rewriting simplifier
// (rules/, tables of pattern ==> result) and a canonical one (sums of products and splits in normal form), and
// a printed schedule agrees with TVM's character for character. ir/ir.h defines which arithmetic may overflow.
//
// Every question ends: depth and work are bounded. If the budget does not decide a question, the answer is
// Unknown, which is different from False. A simplifier that changes nothing returns the same node.
//
// Depends on expressions only: no statements, no schedules.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>

#include "ir/ir.h"

namespace loopsmith::arith {

/// min <= value <= max, both inclusive.
struct ConstIntBound {
  static constexpr int64_t pos_inf = std::numeric_limits<int64_t>::max();
  static constexpr int64_t neg_inf = -pos_inf;
  int64_t min = neg_inf;
  int64_t max = pos_inf;
  [[nodiscard]] auto is_const() const -> bool { return min == max && min != neg_inf && max != pos_inf; }
  friend auto operator==(ConstIntBound, ConstIntBound) -> bool = default;
};

/// value = coeff * k + base for some integer k. coeff 0: the value is base; coeff 1: any value.
/// 0 <= base < coeff where coeff > 0.
struct ModularSet {
  int64_t coeff = 1;
  int64_t base = 0;
  friend auto operator==(ModularSet, ModularSet) -> bool = default;
};

/// The answer to a question. Unknown: neither True nor False was proved within the budget.
enum class Proof : uint8_t { False, True, Unknown };

/// The known order of two values, as a set of <, ==, > in bits.
enum class Order : uint8_t { Inconsistent = 0, EQ = 1, LT = 2, LE = 3, GT = 4, GE = 5, NE = 6, Unknown = 7 };

/// The effort of a proof. SymbolicBound also bounds the two sides by intervals over the loop domains.
enum class Strength : uint8_t { Default, SymbolicBound };

class IntSet;
using DomMap = std::unordered_map<const VarNode*, IntSet>;

/// Extra rules of the rewriting simplifier, off by default (TVM's extensions), as bits.
enum Extension : uint8_t {
  no_extensions = 0,
  transitively_prove_inequalities = 1,         // chains of known comparisons: a <= b and b <= c give a <= c
  convert_boolean_to_and_of_ors = 2,           // conditions in conjunctive normal form, simplified across its parts
  apply_constraints_to_boolean_branches = 4,   // each side of `and` and `or` is simplified under the other
  comparison_of_product_and_sum = 8,           // (a + b) * c against a * b * d, for symbolic extents
};

class Analyzer {
 public:
  Analyzer();
  ~Analyzer();
  Analyzer(Analyzer&&) noexcept;
  auto operator=(Analyzer&&) noexcept -> Analyzer&;

  /// Declares that var lies in the range. A later bind of the same variable must agree with the first, or set allow_override.
  void bind(const Var& var, const Range& range, bool allow_override = false);
  /// Declares that var has this value.
  void bind(const Var& var, const Expr& value, bool allow_override = false);
  /// Sets only the constant bounds of a variable; the other analyses do not use the fact.
  void update_bound(const Var& var, ConstIntBound bound);
  /// Declares var >= 0 (shape variables); with `positive`, var > 0.
  void mark_non_negative(const Var& var, bool positive = false);

  /// A condition that holds until the scope ends. Scopes must end in the reverse order of their creation.
  class Scope {
   public:
    Scope() = default;
    ~Scope();
    Scope(Scope&& other) noexcept : analyzer_(std::exchange(other.analyzer_, nullptr)), mark_(other.mark_) {}
    auto operator=(Scope&&) -> Scope& = delete;
   private:
    friend class Analyzer;
    Scope(Analyzer* analyzer, size_t mark) : analyzer_(analyzer), mark_(mark) {}
    Analyzer* analyzer_ = nullptr;
    size_t mark_ = 0;
  };
  [[nodiscard]] auto enter(const Expr& constraint) -> Scope;

  /// Simplifies in `steps` rounds, alternately rewriting and canonical: TVM's default of 2 is one of each.
  [[nodiscard]] auto simplify(const Expr& expr, int steps = 2) -> Expr;
  [[nodiscard]] auto rewrite_simplify(const Expr& expr) -> Expr;
  [[nodiscard]] auto canonical_simplify(const Expr& expr) -> Expr;

  [[nodiscard]] auto const_int_bound(const Expr& expr) -> ConstIntBound;
  /// The modular set of a value; {1, 0} if nothing is known.
  [[nodiscard]] auto modular_set(const Expr& expr) -> ModularSet;
  /// The interval of values while the variables in `dom` run over their sets; without a map, over their bound domains.
  [[nodiscard]] auto int_set(const Expr& expr, const DomMap& dom) -> IntSet;
  [[nodiscard]] auto int_set(const Expr& expr) -> IntSet;

  /// True or False only if proved; else Unknown.
  [[nodiscard]] auto prove(const Expr& condition, Strength strength = Strength::Default) -> Proof;
  [[nodiscard]] auto can_prove(const Expr& condition, Strength strength = Strength::Default) -> bool {
    return prove(condition, strength) == Proof::True;
  }
  [[nodiscard]] auto can_prove_equal(const Expr& a, const Expr& b) -> bool;
  [[nodiscard]] auto can_prove_greater_equal(const Expr& expr, int64_t lower_bound) -> bool;
  [[nodiscard]] auto can_prove_less(const Expr& expr, int64_t upper_bound) -> bool;
  /// Proves lhs <= shape for symbolic shapes, assuming that shapes are at least 1, including loop domains of extent 1.
  [[nodiscard]] auto can_prove_less_equal_symbolic_shape(const Expr& lhs, const Expr& shape) -> bool;
  [[nodiscard]] auto compare(const Expr& a, const Expr& b) -> Order;

  void set_extensions(uint8_t extensions);
  [[nodiscard]] auto extensions() const -> uint8_t;

  struct State;
  [[nodiscard]] auto state() -> State& { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Structural equality of expressions over the same variables and buffers; no variable is bound to another.
[[nodiscard]] auto deep_equal(const Expr& a, const Expr& b) -> bool;

/// The conjuncts / disjuncts of a condition: `a and (b and c)` gives a, b, c.
[[nodiscard]] auto split_conjunction(const Expr& condition) -> std::vector<Expr>;
[[nodiscard]] auto split_disjunction(const Expr& condition) -> std::vector<Expr>;

}  // namespace loopsmith::arith
