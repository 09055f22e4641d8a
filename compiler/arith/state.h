// The state of an Analyzer, and the entry points of its parts. For the files of this room only.
//
// Parts: constant bounds (const_int_bound.cpp), modular sets (modular_set.cpp), known comparisons
// (transitive_comparison.cpp), interval domains (int_set.cpp), and the two simplifiers (rewrite.h, canonical.h).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "arith/analyzer.h"
#include "arith/int_set.h"

namespace loopsmith::arith {

/// True for types of index arithmetic; most rules apply only to these.
inline auto is_index_type(DataType t) -> bool {
  return t.code == TypeCode::Int && (t.bits == 32 || t.bits == 64) && t.lanes == 1 && !t.scalable;
}

/// True for integers whose arithmetic wraps around: all but int32 and int64 (see ir/ir.h).
inline auto wraps(DataType t) -> bool { return t.is_integral() && !(t.is_int() && t.bits >= 32); }

/// lhs OP rhs + offset, where the two sides are keys into State::keys. Never < or >: these become <= and >=.
struct Comparison {
  size_t lhs, rhs;
  int64_t offset;
  Order order;
};

struct VarFacts {
  Var keep;
  std::optional<ConstIntBound> bound;
  std::optional<ModularSet> modulus;
  Expr value;                            // the bound value, or null
  std::optional<IntSet> domain;
  std::optional<Range> range;            // the bound range, for the comparisons made from it
};

struct Analyzer::State {
  explicit State(Analyzer* owner);
  ~State();
  Analyzer* owner;

  std::unordered_map<const VarNode*, VarFacts> vars;
  auto facts(const Var& var) -> VarFacts& {
    VarFacts& f = vars[var.get()];
    if (!f.keep) { f.keep = var; }
    return f;
  }
  auto find(const VarNode* var) const -> const VarFacts* {
    if (vars.empty()) { return nullptr; }
    auto it = vars.find(var);
    return it == vars.end() ? nullptr : &it->second;
  }

  // Facts of the open scopes, innermost last.
  std::vector<std::pair<Expr, ConstIntBound>> scoped_bounds;
  std::vector<Expr> literals;
  std::vector<Comparison> scoped_comparisons;
  std::vector<std::pair<Var, IntSet>> scoped_domains;
  std::vector<std::pair<Var, std::optional<ModularSet>>> replaced_moduli;
  struct Mark { size_t bounds, literals, comparisons, domains, moduli; };
  std::vector<Mark> marks;

  std::vector<Expr> keys;
  std::vector<Comparison> comparisons;

  uint8_t extensions = no_extensions;

  // Work and depth left for the current question. Without work left, no rule applies and proofs fail: the
  // answer is less precise, but still correct.
  static constexpr int64_t work_per_question = 1'000'000;
  static constexpr int max_depth = 400;
  int64_t work = 0;
  int depth = 0;
  int questions = 0;

  std::unique_ptr<class Rewriter> rewriter;
  std::unique_ptr<class CanonicalSimplifier> canonical;
};

/// A question from outside of this room starts with a full budget; nested questions share it.
class Question {
 public:
  explicit Question(Analyzer::State& state) : state_(state) {
    if (state_.questions++ == 0) { state_.work = Analyzer::State::work_per_question; }
  }
  ~Question() { --state_.questions; }
  Question(const Question&) = delete;
 private:
  Analyzer::State& state_;
};

// const_int_bound.cpp
[[nodiscard]] auto const_int_bound(Analyzer::State& state, const Expr& expr) -> ConstIntBound;
[[nodiscard]] auto bound_of_type(DataType dtype) -> ConstIntBound;
void enter_bounds(Analyzer::State& state, const Expr& constraint);

// modular_set.cpp
[[nodiscard]] auto modular_set(Analyzer::State& state, const Expr& expr) -> ModularSet;
void enter_moduli(Analyzer::State& state, const Expr& constraint);
[[nodiscard]] auto gcd_of(int64_t a, int64_t b) -> int64_t;   // gcd(0, b) is b

// transitive_comparison.cpp
[[nodiscard]] auto compare_by_knowns(Analyzer::State& state, const Expr& a, const Expr& b) -> Order;
void bind_comparisons(Analyzer::State& state, const Var& var, const Range& range);
void enter_comparisons(Analyzer::State& state, const Expr& constraint);

// int_set.cpp
void bind_domain(Analyzer::State& state, const Var& var, IntSet set);
void enter_domains(Analyzer::State& state, const Expr& constraint);

// conjunctive_normal_form.cpp
[[nodiscard]] auto simplify_as_and_of_ors(Analyzer::State& state, const Expr& condition) -> Expr;

// deep_equal.cpp
/// Like deep_equal, but uses up the remaining work.
[[nodiscard]] auto deep_equal(Analyzer::State& state, const Expr& a, const Expr& b) -> bool;

// constraints.cpp
/// The facts that follow from a condition: itself (unless parts_only), the sides of an `and`, the negated sides of a `not (a or b)`.
[[nodiscard]] auto facts_of(const Expr& condition, bool parts_only) -> std::vector<Expr>;
/// The condition with negations pushed inwards, if that makes it shorter.
[[nodiscard]] auto normalize_booleans(Expr condition) -> Expr;
/// True for expressions without reads of memory and without calls with effects.
[[nodiscard]] auto is_pure(Analyzer::State& state, const Expr& expr) -> bool;
/// True for expressions without writes and without calls with effects; reads are allowed.
[[nodiscard]] auto is_read_only(const Expr& expr) -> bool;

inline auto operator&(Order a, Order b) -> Order { return static_cast<Order>(static_cast<uint8_t>(a) & static_cast<uint8_t>(b)); }

/// True when the type contains the value. (Not for uint64 beyond int64, because constants are stored as int64.)
inline auto fits(DataType t, __int128 value) -> bool {
  int bits = std::min<int>(t.bits, 64) - (t.is_int() ? 1 : 0);
  if (t.is_uint() && bits == 64) { bits = 63; }
  __int128 limit = __int128(1) << bits;
  return value < limit && value >= (t.is_int() ? -limit : 0);
}

/// True when the result of the operator on these constants fits into the type.
inline auto fold_is_exact(NodeKind kind, DataType t, int64_t a, int64_t b) -> bool {
  __int128 exact = 0;
  switch (kind) {
    case NodeKind::Add: exact = __int128(a) + b; break;
    case NodeKind::Sub: exact = __int128(a) - b; break;
    case NodeKind::Mul: exact = __int128(a) * b; break;
    case NodeKind::Div: case NodeKind::FloorDiv: exact = b == -1 ? -__int128(a) : 0; break;
    default: return true;
  }
  return fits(t, exact);
}

// Wrapping 64-bit arithmetic, as for constants of TIR.
inline auto wrap_add(int64_t a, int64_t b) -> int64_t { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
inline auto wrap_sub(int64_t a, int64_t b) -> int64_t { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
inline auto wrap_mul(int64_t a, int64_t b) -> int64_t { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
inline auto trunc_div(int64_t a, int64_t b) -> int64_t { return b == -1 ? wrap_sub(0, a) : a / b; }
inline auto trunc_mod(int64_t a, int64_t b) -> int64_t { return b == -1 ? 0 : a % b; }
inline auto floor_div(int64_t a, int64_t b) -> int64_t {
  int64_t q = trunc_div(a, b);
  return trunc_mod(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
inline auto floor_mod(int64_t a, int64_t b) -> int64_t {
  int64_t r = trunc_mod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace loopsmith::arith
