// The Analyzer's public functions: binding, scopes, simplification in rounds, proofs. See analyzer.h.
#include "arith/analyzer.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <unordered_set>

#include "arith/canonical.h"
#include "arith/linear_sum.h"
#include "arith/rewrite.h"
#include "arith/state.h"
#include "arith/walk.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"

namespace loopsmith::arith {
namespace {

constexpr int default_steps = 2;
constexpr int max_turns = 16;
constexpr int max_rounds = 4;
constexpr int64_t fact_cost = 16;
constexpr int max_text = 1000;   // the limit for comparing forms by their text

}  // namespace

Analyzer::State::State(Analyzer* owner)
    : owner(owner), rewriter(std::make_unique<Rewriter>(*this)), canonical(std::make_unique<CanonicalSimplifier>(*this)) {}
Analyzer::State::~State() = default;

Analyzer::Analyzer() : state_(std::make_unique<State>(this)) {}
Analyzer::~Analyzer() = default;
Analyzer::Analyzer(Analyzer&& other) noexcept : state_(std::move(other.state_)) { if (state_) { state_->owner = this; } }
auto Analyzer::operator=(Analyzer&& other) noexcept -> Analyzer& {
  state_ = std::move(other.state_);
  if (state_) { state_->owner = this; }
  return *this;
}

// Known facts about a variable stay, unless an override is allowed: contradicting binds are an error of the
// caller, and earlier proofs rely on the first bind.
void Analyzer::bind(const Var& var, const Range& range, bool allow_override) {
  if (is_one(range.extent)) { return bind(var, range.min, allow_override); }
  Question question(*state_);
  VarFacts& facts = state_->facts(var);
  if (facts.range && !allow_override) { return; }
  ConstIntBound min = arith::const_int_bound(*state_, range.min);
  ConstIntBound extent = arith::const_int_bound(*state_, range.extent);
  auto plus = [](int64_t a, int64_t b) {
    int64_t sum;
    if (a == ConstIntBound::pos_inf || b == ConstIntBound::pos_inf || __builtin_add_overflow(a, b, &sum)) { return ConstIntBound::pos_inf; }
    return sum;
  };
  facts.bound = ConstIntBound{min.min, plus(min.max, plus(extent.max, -1))};
  facts.value = Expr();
  facts.modulus.reset();
  bind_domain(*state_, var, IntSet::from_range(range));
  bind_comparisons(*state_, var, range);
}

void Analyzer::bind(const Var& var, const Expr& value, bool allow_override) {
  if (const VarFacts* facts = state_->find(var.get()); facts && facts->range && !allow_override) { return; }
  Question question(*state_);
  Expr simplified = state_->rewriter->run(state_->canonical->simplify(value));
  ConstIntBound bound = arith::const_int_bound(*state_, simplified);
  ModularSet modulus = arith::modular_set(*state_, simplified);
  IntSet set = int_set(simplified);
  VarFacts& facts = state_->facts(var);
  facts.bound = bound;
  facts.modulus = modulus;
  // Binding a variable to itself adds no fact.
  facts.value = simplified.get() == var.get() ? Expr() : simplified;
  bind_domain(*state_, var, std::move(set));
  if (value.dtype().is_integral()) { bind_comparisons(*state_, var, {value, one(value.dtype())}); }
}

void Analyzer::update_bound(const Var& var, ConstIntBound bound) { state_->facts(var).bound = bound; }
void Analyzer::mark_non_negative(const Var& var, bool positive) { update_bound(var, {positive ? 1 : 0, ConstIntBound::pos_inf}); }

auto Analyzer::enter(const Expr& constraint) -> Scope {
  State& s = *state_;
  Question question(s);
  s.marks.push_back({s.scoped_bounds.size(), s.literals.size(), s.scoped_comparisons.size(), s.scoped_domains.size(), s.replaced_moduli.size()});
  if (s.work <= 0) { return {this, s.marks.size()}; }   // out of work: no facts are added
  enter_bounds(s, constraint);
  enter_moduli(s, constraint);
  Expr simplified = s.rewriter->run(constraint);
  for (const Expr& fact : facts_of(simplified, true)) {
    s.work -= fact_cost;
    if (s.work <= 0 || !is_pure(s, fact)) { continue; }
    s.literals.push_back(fact);
    Expr negation = fact.dtype().is_bool() ? normalize_booleans(logical_not(fact)) : equal(fact, zero(fact.dtype()));
    s.literals.push_back(make<Not>(negation));
  }
  enter_domains(s, constraint);
  enter_comparisons(s, constraint);
  return {this, s.marks.size()};
}

Analyzer::Scope::~Scope() {
  if (!analyzer_) { return; }
  State& s = *analyzer_->state_;
  State::Mark mark = s.marks[mark_ - 1];
  s.marks.resize(mark_ - 1);
  s.scoped_bounds.resize(mark.bounds);
  s.literals.resize(mark.literals);
  s.scoped_comparisons.resize(mark.comparisons);
  s.scoped_domains.resize(mark.domains);
  while (s.replaced_moduli.size() > mark.moduli) {
    auto& [var, old] = s.replaced_moduli.back();
    s.facts(var).modulus = old;
    s.replaced_moduli.pop_back();
  }
}

namespace {

auto is_same(const Expr& a, const Expr& b) -> bool { return a.same_as(b) || (a.kind() == b.kind() && deep_equal(a, b)); }

// Visits each node once: as a tree, an expression with shared nodes may be too large.
auto has_let(const Expr& expr) -> bool {
  std::vector<Expr> todo = {expr};
  std::unordered_set<const ExprNode*> seen;
  while (!todo.empty()) {
    Expr e = std::move(todo.back());
    todo.pop_back();
    if (!seen.insert(e.get()).second) { continue; }
    if (e.as<Let>()) { return true; }
    visit_children(e, [&](const Expr& child) { todo.push_back(child); });
  }
  return false;
}

// Alternates rewriting and canonical form. True: neither changes the result any more. If the forms repeat in a cycle, the result is the
// smallest form of the cycle. `is_canonical`: `result` is known to be its own canonical form.
auto settle(Analyzer::State& state, Expr& result, bool is_canonical) -> bool {
  std::vector<Expr> forms;   // canonical ones, before each turn
  int unchanged = is_canonical ? 1 : 0;
  for (int turn = 0; unchanged < 2 && turn < max_turns && result.kind() != NodeKind::IntImm && state.work > 0; ++turn) {
    bool rewrites = turn % 2 == 0;
    Expr next = rewrites ? state.rewriter->run(result) : state.canonical->simplify(result);
    if (next.same_as(result)) { ++unchanged; continue; }
    unchanged = 0;
    if (rewrites) {
      forms.push_back(std::exchange(result, std::move(next)));
      continue;
    }
    result = std::move(next);
    auto again = std::find_if(forms.begin(), forms.end(), [&](const Expr& e) { return is_same(e, result); });
    if (again == forms.end()) { continue; }
    for (; again != forms.end(); ++again) {
      size_t a = count_nodes(*again), b = count_nodes(result);
      if (a < b || (a == b && print_debug(*again, max_text) < print_debug(result, max_text))) { result = *again; }
    }
    return false;
  }
  return unchanged >= 2 || result.kind() == NodeKind::IntImm;
}

}  // namespace

// The canonical form comes first, because rewriting may destroy structure that it could use. Then the two alternate. With
// the default steps they continue until both change nothing, so that simplification is idempotent. If the forms repeat in a cycle,
// the smallest is the result.
namespace {

auto simplified_by_rules(Analyzer::State& state, const Expr& expr, int steps) -> Expr {
  Question question(state);
  Expr result = state.canonical->simplify(expr);
  if (steps != default_steps) {
    for (int i = 0; i < steps && result.kind() != NodeKind::IntImm; ++i) {
      result = i % 2 == 0 ? state.rewriter->run(result) : state.canonical->simplify(result);
    }
    return is_same(result, expr) ? expr : result;
  }
  bool is_settled = settle(state, result, result.same_as(expr));
  // The smallest form of a cycle may simplify further from another start; this happened where a Let separated related terms.
  if (!is_settled && !has_let(expr)) { is_settled = true; }
  for (int round = 0; !is_settled && round < max_rounds && state.work > 0; ++round) {
    Expr next = state.canonical->simplify(result);
    is_settled = settle(state, next, next.same_as(result));
    if (is_same(next, result)) { break; }
    result = std::move(next);
  }
  return is_same(result, expr) ? expr : result;
}

}  // namespace

auto Analyzer::simplify(const Expr& expr, int steps) -> Expr {
  if (expr.kind() == NodeKind::IntImm) { return expr; }
  if (Expr sum = simplified_linear_sum(*state_, expr)) {
    if (is_same(sum, expr)) { sum = expr; }
    assert(is_same(sum, simplified_by_rules(*state_, expr, steps)));
    return sum;
  }
  return simplified_by_rules(*state_, expr, steps);
}

auto Analyzer::rewrite_simplify(const Expr& expr) -> Expr {
  Question question(*state_);
  return state_->rewriter->run(expr);
}
auto Analyzer::canonical_simplify(const Expr& expr) -> Expr {
  Question question(*state_);
  return state_->canonical->simplify(expr);
}

auto Analyzer::const_int_bound(const Expr& expr) -> ConstIntBound { Question question(*state_); return arith::const_int_bound(*state_, expr); }
auto Analyzer::modular_set(const Expr& expr) -> ModularSet { Question question(*state_); return arith::modular_set(*state_, expr); }

auto Analyzer::prove(const Expr& condition, Strength strength) -> Proof {
  if (const auto* imm = condition.as<IntImm>()) { return imm->value != 0 ? Proof::True : Proof::False; }
  Question question(*state_);
  if (auto value = as_int(simplify(condition))) { return *value != 0 ? Proof::True : Proof::False; }
  if (strength < Strength::SymbolicBound) { return Proof::Unknown; }
  // i < n holds if the minimum of n - i over the domains is positive.
  Expr difference;
  int64_t at_least = 0;
  if (const auto* lt = condition.as<LT>()) { difference = sub(lt->b, lt->a); at_least = 1; }
  else if (const auto* le = condition.as<LE>()) { difference = sub(le->b, le->a); }
  else if (const auto* gt = condition.as<GT>()) { difference = sub(gt->a, gt->b); at_least = 1; }
  else if (const auto* ge = condition.as<GE>()) { difference = sub(ge->a, ge->b); }
  if (difference && difference.dtype().is_integral() && !wraps(difference.dtype())) {
    IntSet set = int_set(simplify(difference));
    if (set.has_lower_bound() && const_int_bound(simplify(set.min())).min >= at_least) { return Proof::True; }
  }
  return Proof::Unknown;
}

auto Analyzer::can_prove_equal(const Expr& a, const Expr& b) -> bool {
  const auto* x = a.as<IntImm>();
  const auto* y = b.as<IntImm>();
  if (x && y) { return x->value == y->value; }
  if (a.dtype().is_handle() || b.dtype().is_handle()) { return a.same_as(b); }
  if (a.same_as(b)) { return true; }
  Expr difference = sub(a, b);
  if (Expr sum = simplified_linear_sum(*state_, difference); sum && sum.kind() == NodeKind::IntImm) { return is_zero(sum); }
  return can_prove(equal(difference, zero(difference.dtype())));
}

auto Analyzer::can_prove_greater_equal(const Expr& expr, int64_t lower_bound) -> bool {
  if (const auto* imm = expr.as<IntImm>()) { return imm->value >= lower_bound; }
  return const_int_bound(rewrite_simplify(expr)).min >= lower_bound;
}
auto Analyzer::can_prove_less(const Expr& expr, int64_t upper_bound) -> bool {
  if (const auto* imm = expr.as<IntImm>()) { return imm->value < upper_bound; }
  return const_int_bound(rewrite_simplify(expr)).max < upper_bound;
}

auto Analyzer::can_prove_less_equal_symbolic_shape(const Expr& lhs, const Expr& shape) -> bool {
  if (can_prove(less_equal(lhs, shape), Strength::SymbolicBound)) { return true; }
  if (as_int(shape)) { return false; }
  // The constant factor of the shape; its symbols are assumed to be at least 1.
  int64_t scale = 1;
  std::vector<Expr> todo = {shape};
  while (!todo.empty()) {
    Expr e = std::move(todo.back());
    todo.pop_back();
    if (const auto* m = e.as<Mul>()) {
      todo.push_back(m->a);
      todo.push_back(m->b);
    } else if (const auto* imm = e.as<IntImm>()) {
      scale = wrap_mul(scale, imm->value);
    }
  }
  return can_prove(less_equal(lhs, constant_int(shape.dtype(), std::abs(scale))), Strength::SymbolicBound);
}

auto Analyzer::compare(const Expr& a, const Expr& b) -> Order {
  Question question(*state_);
  return state_->rewriter->compare(a, b);
}

void Analyzer::set_extensions(uint8_t extensions) { state_->extensions = extensions; }
auto Analyzer::extensions() const -> uint8_t { return state_->extensions; }

}  // namespace loopsmith::arith
