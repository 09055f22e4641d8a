// Linear forms and their ranges: see affine.h.
#include "transform/affine.h"

#include <limits>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::transform {
namespace {

auto same_atom(const Expr& a, const Expr& b) -> bool {
  if (a.same_as(b)) { return true; }
  if (a.as<VarNode>() || b.as<VarNode>()) { return false; }
  return arith::deep_equal(a, b);
}

// total += a * b, modulo 2^64; true if it wraps.
auto wraps_adding(int64_t& total, int64_t a, int64_t b) -> bool {
  int64_t product = 0;
  bool wraps = __builtin_mul_overflow(a, b, &product);
  return __builtin_add_overflow(total, product, &total) || wraps;
}

auto floor_div(int64_t a, int64_t b) -> int64_t {
  int64_t q = a / b;
  return (a % b != 0) && ((a < 0) != (b < 0)) ? q - 1 : q;
}
auto floor_mod(int64_t a, int64_t b) -> int64_t { return a - floor_div(a, b) * b; }

// sum // c, for a sum whose terms are multiples of c, apart from a constant; none for other sums.
auto divide(const Affine& sum, int64_t c) -> std::optional<Affine> {
  Affine out;
  for (const auto& term : sum.terms) {
    if (term.coefficient % c != 0) { return {}; }
    out.add(term.atom, term.coefficient / c);
  }
  out.constant = floor_div(sum.constant, c);
  return out;
}

auto difference(const Affine& a, const Affine& b) -> Affine {
  Affine out = a;
  out.add(b, -1);
  return out;
}

class Ranges {
 public:
  Ranges(const Domains& domains, const std::unordered_map<const VarNode*, bool>& relaxed) : domains_(domains), relaxed_(relaxed) {}

  auto of(const Expr& e) -> std::optional<Interval> {
    if (const auto* c = e.as<Cast>(); c && c->dtype.is_integral() && c->value.dtype().is_integral() && !c->value.dtype().is_bool()) { return of(c->value); }
    if (const auto* n = e.as<Add>()) { return combine(of(n->a), of(n->b), 1); }
    if (const auto* n = e.as<Sub>()) { return combine(of(n->a), of(n->b), -1); }
    if (const auto* n = e.as<Mul>()) {
      auto factor = as_int(n->b);
      if (factor) { return scaled(of(n->a), *factor); }
      factor = as_int(n->a);
      if (factor) { return scaled(of(n->b), *factor); }
    }
    if (const auto* n = e.as<FloorDiv>()) {
      auto c = as_int(n->b);
      auto x = of(n->a);
      if (c && *c > 0 && x) { return quotient(*x, *c, n->dtype); }
    }
    if (const auto* n = e.as<FloorMod>()) {
      auto c = as_int(n->b);
      auto x = of(n->a);
      if (c && *c > 0) { return remainder(x, *c, n->dtype); }
    }
    if (const auto* n = e.as<Min>()) { return extreme(of(n->a), of(n->b), true); }
    if (const auto* n = e.as<Max>()) { return extreme(of(n->a), of(n->b), false); }
    if (const auto* n = e.as<VarNode>(); n && is_relaxed(n)) {
      auto found = domains_.of.find(n);
      if (found == domains_.of.end()) { return {}; }
      auto low = end(found->second.low, false);
      auto high = end(found->second.high, true);
      if (!low || !high) { return {}; }
      return Interval{std::move(*low), std::move(*high)};
    }
    if (auto value = as_int(e)) {
      Affine a;
      a.constant = *value;
      return Interval{a, a};
    }
    // Other expressions must depend neither on relaxed variables nor on memory.
    bool free = true;
    post_order(e, [&](const Expr& x) {
      const auto* v = x.as<VarNode>();
      if ((v && is_relaxed(v)) || x.as<BufferLoad>() || x.as<Call>()) { free = false; }
    });
    if (!free) { return {}; }
    Affine a;
    a.add(e, 1);
    return Interval{a, a};
  }

 private:
  auto is_relaxed(const VarNode* v) const -> bool { return relaxed_.count(v) != 0; }
  // The lower or upper end of a sum that may contain relaxed variables.
  auto end(const Affine& sum, bool upper) -> std::optional<Affine> {
    Affine out;
    out.constant = sum.constant;
    for (const auto& term : sum.terms) {
      auto range = of(term.atom);
      if (!range) { return {}; }
      out.add((term.coefficient > 0) == upper ? range->high : range->low, term.coefficient);
    }
    return out;
  }
  static auto combine(std::optional<Interval> a, std::optional<Interval> b, int sign) -> std::optional<Interval> {
    if (!a || !b) { return {}; }
    a->low.add(sign > 0 ? b->low : b->high, sign);
    a->high.add(sign > 0 ? b->high : b->low, sign);
    return a;
  }
  static auto scaled(std::optional<Interval> a, int64_t factor) -> std::optional<Interval> {
    if (!a) { return {}; }
    Interval out;
    out.low.add(factor >= 0 ? a->low : a->high, factor);
    out.high.add(factor >= 0 ? a->high : a->low, factor);
    return out;
  }
  static auto quotient(const Interval& x, int64_t c, DataType dtype) -> std::optional<Interval> {
    auto low = divide(x.low, c);
    auto high = divide(x.high, c);
    if (low && high) { return Interval{std::move(*low), std::move(*high)}; }
    Affine spread = difference(x.high, x.low);
    if (!spread.is_constant() || spread.constant < 0 || spread.has_wrapped) { return {}; }
    Affine base;
    if (low) { base = *low; } else { base.add(floordiv(x.low.expr(dtype), constant_int(dtype, c)), 1); }
    Affine top = base;
    // floor((l + d) / c) <= floor(l / c) + ceil(d / c)
    const int64_t steps = spread.constant / c + (spread.constant % c > 0 ? 1 : 0);
    top.has_wrapped = wraps_adding(top.constant, steps, 1) || top.has_wrapped;
    return Interval{std::move(base), std::move(top)};
  }
  auto remainder(const std::optional<Interval>& x, int64_t c, DataType dtype) -> std::optional<Interval> {
    Affine low, high;
    high.constant = c - 1;
    if (x) {
      Affine spread = difference(x->high, x->low);
      bool whole = !spread.has_wrapped;
      for (const auto& term : x->low.terms) { whole = whole && term.coefficient % c == 0; }
      if (spread.is_constant() && spread.constant >= 0 && whole) {
        int64_t first = floor_mod(x->low.constant, c);
        if (spread.constant < c - first) {
          low.constant = first;
          high.constant = first + spread.constant;
        }
      } else if (spread.is_constant() && spread.constant == 0 && !spread.has_wrapped) {
        low = Affine();
        low.add(floormod(x->low.expr(dtype), constant_int(dtype, c)), 1);
        high = low;
      }
    }
    return Interval{std::move(low), std::move(high)};
  }
  auto extreme(std::optional<Interval> a, std::optional<Interval> b, bool least) -> std::optional<Interval> {
    if (!a || !b) { return {}; }
    auto pick = [&](const Affine& x, const Affine& y) -> std::optional<Affine> {
      Affine d = difference(x, y);
      auto high = constant_max(d, domains_);
      auto low = constant_min(d, domains_);
      if (high && *high <= 0) { return least ? x : y; }
      if (low && *low >= 0) { return least ? y : x; }
      return {};
    };
    auto low = pick(a->low, b->low);
    auto high = pick(a->high, b->high);
    // min(x, y) <= y: either operand gives an upper bound; a lower bound needs both.
    if (least && !high) { high = b->high; }
    if (!least && !low) { low = b->low; }
    if (!low || !high) { return {}; }
    return Interval{std::move(*low), std::move(*high)};
  }

  const Domains& domains_;
  const std::unordered_map<const VarNode*, bool>& relaxed_;
};

auto constant_end(const Affine& sum, const Domains& domains, bool upper, int depth) -> std::optional<int64_t> {
  if (depth > 16 || sum.has_wrapped) { return {}; }
  // Replaces innermost variables first: their ends may cancel against outer variables.
  Affine rest = sum;
  for (size_t i = domains.order.size(); i-- > 0 && !rest.is_constant();) {
    const VarNode* var = domains.order[i];
    int64_t c = rest.coefficient_of(var);
    if (c == 0) { continue; }
    const Interval& range = domains.of.at(var);
    const Affine& end = (c > 0) == upper ? range.high : range.low;
    if (c == std::numeric_limits<int64_t>::min()) { return {}; }
    rest.add(Expr(Ref<ExprNode>(var)), -c);
    rest.add(end, c);
    if (rest.has_wrapped) { return {}; }
  }
  int64_t total = rest.constant;
  for (const auto& term : rest.terms) {
    // Quotients and remainders by constants have bounds even if their operand is not linear.
    if (const auto* mod = term.atom.as<FloorMod>()) {
      auto c = as_int(mod->b);
      if (!c || *c <= 0) { return {}; }
      if ((term.coefficient > 0) == upper && wraps_adding(total, term.coefficient, *c - 1)) { return {}; }
    } else if (const auto* div = term.atom.as<FloorDiv>()) {
      auto c = as_int(div->b);
      if (!c || *c <= 0) { return {}; }
      auto inner = constant_end(affine_of(div->a), domains, (term.coefficient > 0) == upper, depth + 1);
      if (!inner) { return {}; }
      if (wraps_adding(total, term.coefficient, floor_div(*inner, *c))) { return {}; }
    } else if (const auto* quotient = term.atom.as<Div>(); quotient && quotient->dtype.is_int()) {
      // Rounds towards 0: it never decreases while the operand increases.
      auto c = as_int(quotient->b);
      if (!c || *c <= 0) { return {}; }
      auto inner = constant_end(affine_of(quotient->a), domains, (term.coefficient > 0) == upper, depth + 1);
      if (!inner) { return {}; }
      if (wraps_adding(total, term.coefficient, *inner / *c)) { return {}; }
    } else {
      return {};
    }
  }
  return total;
}

}  // namespace

auto Affine::coefficient_of(const VarNode* var) const -> int64_t {
  for (const Term& t : terms) {
    if (t.atom.get() == var) { return t.coefficient; }
  }
  return 0;
}
void Affine::add(const Expr& atom, int64_t coefficient) {
  if (coefficient == 0) { return; }
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!same_atom(terms[i].atom, atom)) { continue; }
    has_wrapped = wraps_adding(terms[i].coefficient, coefficient, 1) || has_wrapped;
    if (terms[i].coefficient == 0) { terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i)); }
    return;
  }
  terms.push_back({atom, coefficient});
}
void Affine::add(const Affine& other, int64_t factor) {
  // `other` may be `*this`.
  std::vector<Term> items = other.terms;
  int64_t c = other.constant;
  has_wrapped = has_wrapped || other.has_wrapped;
  for (const Term& t : items) {
    int64_t coefficient = 0;
    has_wrapped = wraps_adding(coefficient, t.coefficient, factor) || has_wrapped;
    add(t.atom, coefficient);
  }
  has_wrapped = wraps_adding(constant, c, factor) || has_wrapped;
}
auto Affine::expr(DataType dtype) const -> Expr {
  Expr out;
  for (const Term& t : terms) {
    Expr term = mul(cast(dtype, t.atom), constant_int(dtype, t.coefficient));
    out = out ? loopsmith::add(std::move(out), std::move(term)) : term;
  }
  if (!out) { return constant_int(dtype, constant); }
  return constant < 0 && constant > std::numeric_limits<int64_t>::min() ? sub(std::move(out), constant_int(dtype, -constant)) : loopsmith::add(std::move(out), constant_int(dtype, constant));
}

auto affine_of(const Expr& e) -> Affine {
  Affine out;
  if (auto value = as_int(e)) {
    out.constant = *value;
  } else if (const auto* sum = e.as<Add>()) {
    out = affine_of(sum->a);
    out.add(affine_of(sum->b));
  } else if (const auto* minus = e.as<Sub>()) {
    out = affine_of(minus->a);
    out.add(affine_of(minus->b), -1);
  } else if (const auto* product = e.as<Mul>()) {
    if (auto right = as_int(product->b)) { out.add(affine_of(product->a), *right); }
    else if (auto left = as_int(product->a)) { out.add(affine_of(product->b), *left); }
    else { out.add(e, 1); }
  } else if (const auto* cast = e.as<Cast>(); cast && cast->dtype.is_int() && cast->value.dtype().is_int()) {
    out = affine_of(cast->value);
  } else {
    out.add(e, 1);
  }
  return out;
}

void Domains::push(const VarNode* var, const Expr& min, const Expr& extent) {
  Interval range;
  range.low = affine_of(min);
  range.high = range.low;
  range.high.add(affine_of(extent));
  range.high.has_wrapped = wraps_adding(range.high.constant, -1, 1) || range.high.has_wrapped;
  of[var] = std::move(range);
  order.push_back(var);
}
void Domains::pop() {
  of.erase(order.back());
  order.pop_back();
}

auto interval_of(const Expr& expr, const Domains& domains, const std::unordered_map<const VarNode*, bool>& relaxed) -> std::optional<Interval> {
  auto out = Ranges(domains, relaxed).of(expr);
  return out && !out->low.has_wrapped && !out->high.has_wrapped ? out : std::nullopt;
}
auto constant_min(const Affine& sum, const Domains& domains) -> std::optional<int64_t> { return constant_end(sum, domains, false, 0); }
auto constant_max(const Affine& sum, const Domains& domains) -> std::optional<int64_t> { return constant_end(sum, domains, true, 0); }

auto fits_type(const Affine& sum, DataType dtype, const Domains& domains) -> bool {
  if (sum.has_wrapped || !dtype.is_int() || !dtype.is_scalar()) { return !sum.has_wrapped; }
  const int64_t least = *as_int(min_value(dtype)), most = *as_int(max_value(dtype));
  auto is_inside = [&](int64_t value) { return value >= least && value <= most; };
  if (!is_inside(sum.constant)) { return false; }
  Affine part;
  for (const Affine::Term& term : sum.terms) {
    if (!is_inside(term.coefficient)) { return false; }
    part.add(term.atom, term.coefficient);
    auto low = constant_min(part, domains), high = constant_max(part, domains);
    if ((low && !is_inside(*low)) || (high && !is_inside(*high))) { return false; }
  }
  auto low = constant_min(sum, domains), high = constant_max(sum, domains);
  return !(low && !is_inside(*low)) && !(high && !is_inside(*high));
}

}  // namespace loopsmith::transform
