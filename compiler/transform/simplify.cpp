// Simplification of whole functions: see simplify.h. It collects linear sums, splits their quotients and remainders,
// and decides comparisons by the ranges of loop variables.
#include "transform/simplify.h"

#include <numeric>

#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "transform/affine.h"
#include "transform/fold.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

class Simplify : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    Expr min = mutate(n.min);
    Expr extent = mutate(n.extent);
    domains_.push(n.var.get(), min, extent);
    Stmt body = mutate(n.body);
    domains_.pop();
    // A jump out of the body needs the loop.
    if (is_one(extent) && n.for_kind != ForKind::ThreadBinding && n.annotations.empty() && !loop_jumps_out_of(body).any()) {
      return mutate(fold(body, {{n.var.get(), cast(n.var->dtype, min)}}));
    }
    if (min.same_as(n.min) && extent.same_as(n.extent) && body.same_as(n.body)) { return self(n); }
    return make<For>(n.var, std::move(min), std::move(extent), n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }
  auto on(const IfThenElse& n) -> Stmt override {
    Expr condition = mutate(n.condition);
    if (const auto* known = condition.as<IntImm>()) {
      if (known->value) { return mutate(n.then_case); }
      return n.else_case ? mutate(n.else_case) : no_op();
    }
    Stmt then_case = mutate(n.then_case);
    Stmt else_case = n.else_case ? mutate(n.else_case) : Stmt();
    if (condition.same_as(n.condition) && then_case.same_as(n.then_case) && else_case.same_as(n.else_case)) { return self(n); }
    return make<IfThenElse>(std::move(condition), std::move(then_case), std::move(else_case), n.origin);
  }
  auto on(const Call& n) -> Expr override {
    Expr out = Mutator::on(n);
    return out.same_as(self(n)) ? out : fold(out);
  }
  auto on(const Select& n) -> Expr override {
    Expr out = Mutator::on(n);
    return out.same_as(self(n)) ? out : fold(out);
  }
  auto on(const BlockRealize& n) -> Stmt override { return Mutator::on(n); }
  // Removes a mask that always holds; an access whose mask never holds has no effect.
  auto on(const BufferLoad& n) -> Expr override {
    Expr out = Mutator::on(n);
    const auto& load = *out.as<BufferLoad>();
    if (!load.predicate || !is_one(load.predicate)) { return out; }
    return make<BufferLoad>(load.buffer, load.indices, load.origin);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto& store = *out.as<BufferStore>();
    if (!store.predicate) { return out; }
    if (is_zero(store.predicate)) { return no_op(); }
    if (!is_one(store.predicate)) { return out; }
    return make<BufferStore>(store.buffer, store.value, store.indices, store.origin);
  }

  auto on(const Add& n) -> Expr override { return sum(n); }
  auto on(const Sub& n) -> Expr override { return sum(n); }
  auto on(const Mul& n) -> Expr override { return sum(n); }
  auto on(const FloorDiv& n) -> Expr override { return quotient(n, false); }
  auto on(const FloorMod& n) -> Expr override { return quotient(n, true); }
  auto on(const LT& n) -> Expr override { return compare(n, -1, false); }   // a - b <= -1
  auto on(const LE& n) -> Expr override { return compare(n, 0, false); }
  auto on(const GT& n) -> Expr override { return compare(n, 1, true); }     // a - b >= 1
  auto on(const GE& n) -> Expr override { return compare(n, 0, true); }
  auto on(const EQ& n) -> Expr override { return equality(n, true); }
  auto on(const NE& n) -> Expr override { return equality(n, false); }
  auto on(const And& n) -> Expr override { return folded(n, logical_and); }
  auto on(const Or& n) -> Expr override { return folded(n, logical_or); }
  auto on(const Not& n) -> Expr override {
    Expr a = mutate(n.a);
    if (a.as<IntImm>()) { return logical_not(a, n.origin); }
    return a.same_as(n.a) ? self(n) : Expr(make<Not>(std::move(a), n.origin));
  }
  auto on(const Min& n) -> Expr override { return extreme(n, true); }
  auto on(const Max& n) -> Expr override { return extreme(n, false); }

 private:
  static auto is_index(DataType t) -> bool { return t.is_int() && t.is_scalar() && t.bits >= 32; }
  template <class N> auto rebuilt(const N& n, Expr a, Expr b) -> Expr {
    if (a.same_as(n.a) && b.same_as(n.b)) { return self(n); }
    return make<N>(std::move(a), std::move(b), n.origin);
  }
  template <class N> auto folded(const N& n, Expr (*build)(Expr, Expr, Origin)) -> Expr {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    if (a.as<IntImm>() || b.as<IntImm>()) { return build(std::move(a), std::move(b), n.origin); }
    return rebuilt(n, std::move(a), std::move(b));
  }
  // The collected sum if it is shorter, else the sum as written.
  template <class N> auto sum(const N& n) -> Expr {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    Expr here = rebuilt(n, a, b);
    if (!is_index(n.dtype)) { return here; }
    Affine total = affine_of(here);
    size_t before = 0;
    count_terms(here, before);
    if (total.terms.size() + (total.constant != 0) < before) { return total.expr(n.dtype); }
    return here;
  }
  static void count_terms(const Expr& e, size_t& count) {
    if (const auto* x = e.as<Add>()) { count_terms(x->a, count); count_terms(x->b, count); return; }
    if (const auto* x = e.as<Sub>()) { count_terms(x->a, count); count_terms(x->b, count); return; }
    if (const auto* x = e.as<Mul>()) {
      if (as_int(x->b)) { count_terms(x->a, count); return; }
      if (as_int(x->a)) { count_terms(x->b, count); return; }
    }
    ++count;
  }
  template <class N> auto quotient(const N& n, bool remainder) -> Expr {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    auto c = as_int(b);
    if (!is_index(n.dtype) || !c || *c <= 0) { return rebuilt(n, std::move(a), std::move(b)); }
    if (*c == 1) { return remainder ? zero(n.dtype) : a; }
    Affine whole, rest;
    Affine total = affine_of(a);
    for (const auto& term : total.terms) {
      if (term.coefficient % *c == 0) { whole.add(term.atom, term.coefficient / *c); } else { rest.add(term.atom, term.coefficient); }
    }
    rest.constant = total.constant;
    auto low = constant_min(rest, domains_);
    auto high = constant_max(rest, domains_);
    auto floor_of = [&](int64_t x) { return x >= 0 || FAULT(simplify_truncates) ? x / *c : -((-x + *c - 1) / *c); };
    if (low && high && floor_of(*low) == floor_of(*high)) {
      int64_t q = floor_of(*low);
      if (remainder) {
        rest.constant -= q * *c;
        return rest.expr(n.dtype);
      }
      whole.constant += q;
      return whole.expr(n.dtype);
    }
    if (auto steps = in_steps(rest, *c)) {
      Expr coarse = steps->coarse.expr(n.dtype), count = constant_int(n.dtype, *c / steps->size);
      if (!remainder) { return add(whole.expr(n.dtype), floordiv(std::move(coarse), std::move(count), n.origin), n.origin); }
      return add(mul(floormod(std::move(coarse), std::move(count), n.origin), constant_int(n.dtype, steps->size)), steps->fine.expr(n.dtype), n.origin);
    }
    if (!whole.terms.empty()) {
      Expr part = rest.expr(n.dtype);
      if (remainder) { return floormod(std::move(part), std::move(b), n.origin); }
      return add(whole.expr(n.dtype), floordiv(std::move(part), std::move(b), n.origin), n.origin);
    }
    return rebuilt(n, std::move(a), std::move(b));
  }
  // A sum as `size * coarse + fine` with `fine` in [0, size), for the largest size that divides `c`: `(64 * y + 4 * x + v) // 128` with v below 4
  // is `(16 * y + x) // 32`.
  struct Steps {
    int64_t size;
    Affine coarse, fine;
  };
  auto in_steps(const Affine& sum, int64_t c) const -> std::optional<Steps> {
    std::optional<Steps> best;
    for (const auto& candidate : sum.terms) {
      const int64_t size = std::gcd(candidate.coefficient, c);
      if (sum.has_wrapped || size <= (best ? best->size : 1)) { continue; }
      Steps steps{size, {}, {}};
      for (const auto& term : sum.terms) {
        if (term.coefficient % size == 0) { steps.coarse.add(term.atom, term.coefficient / size); } else { steps.fine.add(term.atom, term.coefficient); }
      }
      steps.fine.constant = (sum.constant % size + size) % size;
      steps.coarse.constant = (sum.constant - steps.fine.constant) / size;
      auto low = constant_min(steps.fine, domains_), high = constant_max(steps.fine, domains_);
      if (low && high && *low >= 0 && *high < size) { best = std::move(steps); }
    }
    return best;
  }
  // The smallest and largest lane of a vector of indices: ramps, broadcasts and their sums.
  auto ends_of(const Expr& e) const -> std::optional<std::pair<Affine, Affine>> {
    if (const auto* same = e.as<Broadcast>()) {
      Affine value = affine_of(same->value);
      return std::pair(value, value);
    }
    const auto* ramp = e.as<Ramp>();
    auto stride = ramp ? as_int(ramp->stride) : std::nullopt;
    if (!stride) { return {}; }
    Affine low = affine_of(ramp->base), high = low;
    (*stride >= 0 ? high : low).constant += *stride * (e.dtype().lanes - 1);
    return std::pair(low, high);
  }
  // True or false for comparisons of vectors that hold for all lanes or for none; else none.
  auto known_for_lanes(const Expr& a, const Expr& b, int64_t bound, bool at_least) const -> std::optional<bool> {
    DataType t = a.dtype();
    if (!t.is_int() || t.bits < 32 || !t.is_vector() || t.scalable) { return {}; }
    auto x = ends_of(a), y = ends_of(b);
    if (!x || !y) { return {}; }
    Affine least = x->first, most = x->second;
    least.add(y->second, -1);
    most.add(y->first, -1);
    auto low = constant_min(least, domains_), high = constant_max(most, domains_);
    if (low && *low >= bound + (at_least ? 0 : 1)) { return at_least; }
    if (high && *high <= bound - (at_least ? 1 : 0)) { return !at_least; }
    return {};
  }
  // For a quotient or remainder of a value that is never negative: that value, which is at least as large. Null for other expressions.
  auto no_smaller(const Expr& e) const -> Expr {
    auto operand = [&](const Expr& a, const Expr& b) {
      auto low = as_int(b).value_or(0) > 0 && is_index(a.dtype()) ? constant_min(affine_of(a), domains_) : std::nullopt;
      return low && *low >= 0 ? a : Expr();
    };
    if (const auto* x = e.as<FloorDiv>()) { return operand(x->a, x->b); }
    if (const auto* x = e.as<FloorMod>()) { return operand(x->a, x->b); }
    if (const auto* x = e.as<Div>()) { return operand(x->a, x->b); }
    if (const auto* x = e.as<Mod>()) { return operand(x->a, x->b); }
    return {};
  }
  // The smallest value of a sum: by the ranges of its terms; or after subtracted quotients and remainders are replaced by the whole values, which may
  // cancel against other terms (`x * 6 - x // 2 % 6` is not negative).
  auto least_of(Affine sum) const -> std::optional<int64_t> {
    auto least = constant_min(sum, domains_);
    constexpr int most_rounds = 4;
    for (int round = 0; round < most_rounds; ++round) {
      Affine next;
      next.constant = sum.constant;
      bool is_changed = false;
      for (const auto& term : sum.terms) {
        Expr whole = term.coefficient < 0 ? no_smaller(term.atom) : Expr();
        if (whole) { next.add(affine_of(whole), term.coefficient); } else { next.add(term.atom, term.coefficient); }
        is_changed = is_changed || whole;
      }
      if (!is_changed) { break; }
      sum = std::move(next);
      auto other = constant_min(sum, domains_);
      if (other && (!least || *other > *least)) { least = other; }
    }
    return least;
  }
  auto most_of(const Affine& sum) const -> std::optional<int64_t> {
    Affine negative;
    negative.add(sum, -1);
    auto least = least_of(std::move(negative));
    return least ? std::optional<int64_t>(-*least) : std::nullopt;
  }
  template <class N> auto compare(const N& n, int64_t bound, bool at_least) -> Expr {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    if (auto known = known_for_lanes(a, b, bound, at_least)) { return make<Broadcast>(bool_imm(*known), int_imm(a.dtype().lanes), n.origin); }
    if (is_index(a.dtype())) {
      Affine d = affine_of(a);
      d.add(affine_of(b), -1);
      auto low = least_of(d);
      auto high = most_of(d);
      if (at_least) {
        if (low && *low >= bound - (FAULT(simplify_compare_off) ? 1 : 0)) { return bool_imm(true, n.origin); }
        if (high && *high < bound) { return bool_imm(false, n.origin); }
      } else {
        if (high && *high <= bound + (FAULT(simplify_compare_off) ? 1 : 0)) { return bool_imm(true, n.origin); }
        if (low && *low > bound) { return bool_imm(false, n.origin); }
      }
    }
    return rebuilt(n, std::move(a), std::move(b));
  }
  template <class N> auto equality(const N& n, bool equals) -> Expr {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    if (is_index(a.dtype())) {
      Affine d = affine_of(a);
      d.add(affine_of(b), -1);
      auto low = constant_min(d, domains_);
      auto high = constant_max(d, domains_);
      if (low && high && *low == 0 && *high == 0) { return bool_imm(equals, n.origin); }
      if ((low && *low > 0) || (high && *high < 0)) { return bool_imm(!equals, n.origin); }
    }
    return rebuilt(n, std::move(a), std::move(b));
  }
  template <class N> auto extreme(const N& n, bool least) -> Expr {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    if (is_index(a.dtype())) {
      Affine d = affine_of(a);
      d.add(affine_of(b), -1);
      auto low = constant_min(d, domains_);
      auto high = constant_max(d, domains_);
      if (high && *high <= 0) { return least != FAULT(simplify_extreme_swapped) ? a : b; }
      if (low && *low >= 0) { return least ? b : a; }
    }
    return rebuilt(n, std::move(a), std::move(b));
  }

  Domains domains_;
};

}  // namespace

auto simplify(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Simplify().mutate(func->body)); });
}

}  // namespace loopsmith::transform
