// Canonical simplification: see canonical.h. After TVM 0.19's canonical simplifier, with the same order of terms:
// positive terms by decreasing scale, then the constant, then subtracted terms.
#include "arith/canonical.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "arith/walk.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::arith {
namespace {

constexpr int64_t no_upper = ConstIntBound::pos_inf;

// Set when a constant overflows its type: a result with such a constant would be wrong. `visit` checks it after each expression.
thread_local bool has_left = false;

auto plus(int64_t a, int64_t b) -> int64_t {
  int64_t out;
  has_left = __builtin_add_overflow(a, b, &out) || has_left;
  return out;
}
auto times(int64_t a, int64_t b) -> int64_t {
  int64_t out;
  has_left = __builtin_mul_overflow(a, b, &out) || has_left;
  return out;
}
auto constant_of(DataType dtype, int64_t value) -> Expr {
  has_left = !fits(dtype, value) || has_left;
  return constant_int(dtype, value);
}

auto is_min_value(DataType dtype, int64_t value) -> bool {
  return dtype.bits >= 64 ? value == std::numeric_limits<int64_t>::min() : value == -(int64_t{1} << (dtype.bits - 1));
}

}  // namespace

auto multiply_normalized(const Expr& a, const Expr& b) -> Expr {
  if (const auto *x = a.as<IntImm>(), *y = b.as<IntImm>(); x && y) { return constant_of(a.dtype(), times(x->value, y->value)); }
  if (has_many_factors(a) || has_many_factors(b)) { return mul(a, b); }
  int64_t scale = 1;
  Expr result = one(a.dtype());
  auto collect = [&](const Expr& factor) {
    if (const auto* imm = factor.as<IntImm>()) { scale = times(scale, imm->value); }
    else { result = mul(result, factor); }
  };
  each_factor(a, collect);
  each_factor(b, collect);
  return mul(result, constant_of(a.dtype(), scale));
}

namespace {

// Cancels the common factors of a dividend and a divisor, and the greatest common divisor of their constants. `common` is
// the product of the cancelled factors. False if nothing cancels, or if the divisor is constant.
auto cancel_factors(Expr& lhs, Expr& rhs, Expr& common) -> bool {
  if (rhs.as<IntImm>() || has_many_factors(lhs) || has_many_factors(rhs)) { return false; }
  std::vector<Expr> lhs_factors;
  int64_t lhs_scale = 1, rhs_scale = 1;
  each_factor(lhs, [&](const Expr& e) {
    if (const auto* imm = e.as<IntImm>()) { lhs_scale = times(lhs_scale, imm->value); } else { lhs_factors.push_back(e); }
  });
  Expr new_rhs = one(rhs.dtype()), new_common = one(rhs.dtype());
  int cancelled = 0;
  each_factor(rhs, [&](const Expr& e) {
    if (const auto* imm = e.as<IntImm>()) { rhs_scale = times(rhs_scale, imm->value); return; }
    for (Expr& factor : lhs_factors) {
      if (factor && deep_equal(factor, e)) {
        factor = Expr();
        ++cancelled;
        new_common = mul(new_common, e);
        return;
      }
    }
    new_rhs = mul(new_rhs, e);
  });
  int64_t gcd = gcd_of(lhs_scale, rhs_scale);
  if (gcd == 0) { return false; }
  if (cancelled == 0 && gcd == 1) { return false; }
  Expr new_lhs = one(lhs.dtype());
  for (const Expr& factor : lhs_factors) { if (factor) { new_lhs = mul(new_lhs, factor); } }
  lhs = mul(new_lhs, constant_int(lhs.dtype(), lhs_scale / gcd));
  rhs = mul(new_rhs, constant_int(rhs.dtype(), rhs_scale / gcd));
  common = mul(new_common, constant_int(rhs.dtype(), gcd));
  return true;
}

}  // namespace

struct CanonicalSimplifier::Split {
  Expr index;
  DataType dtype;
  int64_t lower = 1;
  int64_t upper = no_upper;      // a multiple of lower, or none
  int64_t scale = 1;
  Mode mode = Mode::Trunc;

  [[nodiscard]] auto same_index(const Split& other) const -> bool {
    return index.same_as(other.index) || (index.kind() == other.index.kind() && deep_equal(index, other.index));
  }
  // Without division and remainder, the modes give the same split.
  [[nodiscard]] auto fits_mode(Mode other) const -> bool { return mode == other || (lower == 1 && upper == no_upper); }
  [[nodiscard]] auto normalize(int64_t factor = 1) const -> Expr {
    if (scale == 0) { return zero(dtype); }
    Expr result = index;
    if (upper != no_upper) {
      Expr bound = constant_of(dtype, upper);
      result = mode == Mode::Trunc ? truncmod(result, bound) : floormod(result, bound);
    }
    if (lower != 1) {
      Expr divisor = constant_of(dtype, lower);
      result = mode == Mode::Trunc ? div(result, divisor) : floordiv(result, divisor);
    }
    int64_t total = times(scale, factor);
    return total == 1 ? result : mul(result, constant_of(dtype, total));
  }
};

struct CanonicalSimplifier::Sum {
  // Splits of the same index are adjacent, by decreasing lower factor.
  std::vector<Split> args;
  int64_t base = 0;
  DataType dtype;

  [[nodiscard]] auto is_zero() const -> bool { return base == 0 && args.empty(); }
  void multiply(int64_t factor) {
    base = times(base, factor);
    for (Split& s : args) { s.scale = times(s.scale, factor); }
  }
  void divide_exactly(int64_t factor) {
    base = trunc_div(base, factor);
    for (Split& s : args) { s.scale = trunc_div(s.scale, factor); }
  }
  void add(int64_t value) { base = plus(base, value); }
  void add(Split other, int64_t factor) {
    if (other.scale == 0) { return; }
    other.scale = times(other.scale, factor);
    size_t start = 0;
    while (start < args.size() && !args[start].same_index(other)) { ++start; }
    for (size_t j = start; j < args.size(); ++j) {
      if ((j != start && !args[j].same_index(other)) || other.lower > args[j].lower) {
        args.insert(args.begin() + static_cast<ptrdiff_t>(j), std::move(other));
        return;
      }
      if (other.lower == args[j].lower && other.upper == args[j].upper && other.fits_mode(args[j].mode)) {
        args[j].scale = plus(args[j].scale, other.scale);
        return;
      }
    }
    args.push_back(std::move(other));
  }
  void add(const Sum& other, int64_t factor) {
    for (const Split& s : other.args) { add(s, factor); }
    add(times(other.base, factor));
  }
  // The terms that are divisible by coeff, and the others.
  [[nodiscard]] auto separate(int64_t coeff) const -> std::pair<Sum, Sum> {
    Sum divisible, rest;
    divisible.dtype = rest.dtype = dtype;
    (trunc_mod(base, coeff) == 0 ? divisible : rest).base = base;
    for (const Split& s : args) { (trunc_mod(s.scale, coeff) == 0 ? divisible : rest).args.push_back(s); }
    return {std::move(divisible), std::move(rest)};
  }

  [[nodiscard]] auto normalize() const -> Expr {
    if (args.empty()) { return constant_of(dtype, base); }
    if (args.size() == 1 && base == 0 && args[0].scale > 0) { return args[0].normalize(); }
    std::vector<Split> merged = args;
    merge_neighbours(merged);
    auto before = [](const Split& a, const Split& b) {
      if (a.scale != b.scale) { return a.scale > b.scale; }
      if (a.lower != b.lower) { return a.lower > b.lower; }
      if (a.upper != b.upper) { return a.upper > b.upper; }
      return a.mode > b.mode;
    };
    // A stable sort; insertion sort for few terms, the usual case.
    constexpr size_t few = 24;
    if (merged.size() <= few) {
      for (size_t i = 1; i < merged.size(); ++i) {
        for (size_t j = i; j > 0 && before(merged[j], merged[j - 1]); --j) { std::swap(merged[j], merged[j - 1]); }
      }
    } else {
      std::vector<size_t> order(merged.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::sort(order.begin(), order.end(), [&](size_t i, size_t j) {
        return before(merged[i], merged[j]) || (i < j && !before(merged[j], merged[i]));
      });
      std::vector<Split> sorted;
      for (size_t i : order) { sorted.push_back(std::move(merged[i])); }
      merged = std::move(sorted);
    }
    settle_ties(merged, before);
    bool add_base = base > 0 || is_min_value(dtype, base);
    Expr result = zero(dtype);
    for (const Split& s : merged) { if (s.scale > 0) { result = loopsmith::add(result, s.normalize()); } }
    if (add_base) { result = loopsmith::add(result, constant_of(dtype, base)); }
    for (const Split& s : merged) { if (s.scale < 0) { result = sub(result, s.normalize(-1)); } }
    if (base < 0 && !add_base) { result = sub(result, constant_of(dtype, wrap_sub(0, base))); }
    return result;
  }

 private:
  // Orders terms of equal rank as a second simplification would order them: a term whose index occurred before (with another
  // divisor) goes next to that term.
  template <class Before>
  static void settle_ties(std::vector<Split>& sorted, const Before& before) {
    for (size_t begin = 0; begin < sorted.size();) {
      size_t end = begin + 1;
      while (end < sorted.size() && !before(sorted[begin], sorted[end])) { ++end; }
      if (end - begin > 1 && begin > 0) {
        std::vector<std::pair<size_t, size_t>> order;   // the first position of its index, its own position
        for (size_t i = begin; i < end; ++i) {
          size_t first = 0;
          while (first < begin && (sorted[first].scale == 0 || !sorted[first].same_index(sorted[i]))) { ++first; }
          order.emplace_back(first, i);
        }
        std::sort(order.begin(), order.end());
        std::vector<Split> run;
        for (const auto& [first, at] : order) { run.push_back(sorted[at]); }
        std::move(run.begin(), run.end(), sorted.begin() + static_cast<ptrdiff_t>(begin));
      }
      begin = end;
    }
  }
  // (z / 6) * 6 + ((z % 6) / 3) * 3  ==>  (z / 3) * 3: with x = z % upper, c the lower factor of the second
  // and s the ratio of scales, (x / (c s)) * s + (x % (c s)) / c = x / c, for either kind of division.
  static void merge_neighbours(std::vector<Split>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].scale == 0) { continue; }
      for (size_t j = i + 1; j < args.size(); ++j) {
        Split& l = args[i];
        Split& r = args[j];
        if (l.upper < r.lower || !l.same_index(r)) { break; }
        if (l.upper == r.upper && l.lower == r.lower && l.fits_mode(r.mode)) {
          r.scale = plus(r.scale, l.scale);
          l.scale = 0;
        } else if (l.lower == r.upper && r.scale != 0 && trunc_mod(l.scale, r.scale) == 0 &&
                   l.lower == times(trunc_div(l.scale, r.scale), r.lower) && l.fits_mode(r.mode)) {
          r.upper = l.upper;
          l.scale = 0;
          break;
        }
      }
    }
  }
};

class CanonicalSimplifier::Form {
 public:
  Form(Expr e) : expr_(std::move(e)) {}                                        // NOLINT
  Form(Split s) : split_(std::move(s)) {}                                      // NOLINT
  Form(Sum s) : sum_(std::move(s)) {}                                          // NOLINT

  [[nodiscard]] auto sum() -> Sum* { return sum_ ? &*sum_ : nullptr; }
  [[nodiscard]] auto split() -> Split* { return split_ ? &*split_ : nullptr; }
  [[nodiscard]] auto constant() const -> const IntImm* { return expr_.as<IntImm>(); }
  [[nodiscard]] auto expr() const -> const Expr& { return expr_; }   // none for sums and splits
  [[nodiscard]] auto dtype() const -> DataType { return sum_ ? sum_->dtype : split_ ? split_->dtype : expr_.dtype(); }
  [[nodiscard]] auto normalize() const -> Expr { return sum_ ? sum_->normalize() : split_ ? split_->normalize() : expr_; }

  [[nodiscard]] auto to_split() && -> Split {
    if (split_) { return std::move(*split_); }
    if (sum_ && sum_->base == 0 && sum_->args.size() == 1) { return std::move(sum_->args[0]); }
    Expr e = normalize();
    DataType t = e.dtype();
    return {.index = std::move(e), .dtype = t};
  }
  [[nodiscard]] auto to_sum() && -> Sum {
    if (sum_) { return std::move(*sum_); }
    Sum out;
    out.dtype = dtype();
    if (const auto* imm = constant()) { out.base = imm->value; }
    else { out.args.push_back(std::move(*this).to_split()); }
    return out;
  }

 private:
  Expr expr_;
  std::optional<Split> split_;
  std::optional<Sum> sum_;
};

auto CanonicalSimplifier::simplify(const Expr& expr) -> Expr {
  Expr result = visit(expr);
  return !result.same_as(expr) && deep_equal(result, expr) ? expr : result;
}

auto CanonicalSimplifier::visit(const Expr& expr) -> Expr {
  switch (expr.kind()) {
    case NodeKind::VarNode: case NodeKind::IntImm: case NodeKind::FloatImm: return rewrite(expr);
    default: {
      bool outer = std::exchange(has_left, false);
      Expr result = mutate(expr).normalize();
      return std::exchange(has_left, outer) ? one_by_one(expr) : with_origin(std::move(result), expr);
    }
  }
}

// The node with each of its operands in normal form.
auto CanonicalSimplifier::one_by_one(const Expr& expr) -> Expr {
  if (--state_.work < 0 || expr.kind() == NodeKind::LT || expr.kind() == NodeKind::Cast) { return rewrite(expr); }
  const auto& n = *static_cast<const BinaryNode*>(expr.get());
  Expr a = visit(n.a), b = visit(n.b);
  return a.same_as(n.a) && b.same_as(n.b) ? expr : with_origin(make_raw(expr.kind(), std::move(a), std::move(b)), expr);
}

auto CanonicalSimplifier::mutate(const Expr& expr) -> Form {
  NodeKind kind = expr.kind();
  bool is_arithmetic = kind == NodeKind::Add || kind == NodeKind::Sub || kind == NodeKind::Mul || kind == NodeKind::Div ||
                       kind == NodeKind::Mod || kind == NodeKind::FloorDiv || kind == NodeKind::FloorMod || kind == NodeKind::Cast;
  if (kind != NodeKind::LT && (!is_arithmetic || !is_index_type(expr.dtype()))) { return rewrite(expr); }
  if (--state_.work < 0 || state_.depth >= Analyzer::State::max_depth) { return expr; }
  struct Depth { int& d; explicit Depth(int& x) : d(x) { ++d; } ~Depth() { --d; } } depth(state_.depth);
  switch (kind) {
    case NodeKind::Add: return sum_of(expr, false);
    case NodeKind::Sub: return sum_of(expr, true);
    case NodeKind::Mul: return product(expr);
    case NodeKind::Div: return quotient(expr, Mode::Trunc);
    case NodeKind::FloorDiv: return quotient(expr, Mode::Floor);
    case NodeKind::Mod: return remainder(expr, Mode::Trunc);
    case NodeKind::FloorMod: return remainder(expr, Mode::Floor);
    case NodeKind::Cast: return conversion(expr);
    default: return less_than(expr);
  }
}

auto CanonicalSimplifier::sum_of(const Expr& expr, bool negative) -> Form {
  const auto& n = *static_cast<const BinaryNode*>(expr.get());
  Form a = mutate(n.a);
  Form b = mutate(n.b);
  if (a.expr() && b.expr()) { if (Expr folded = try_fold(expr.kind(), a.expr(), b.expr())) { return folded; } }
  else if (const auto* c = b.constant(); c && c->value == 0) { return a; }
  else if (const auto* d = a.constant(); d && d->value == 0 && !negative) { return b; }
  int64_t sign = negative ? -1 : 1;
  Sum result = std::move(a).to_sum();
  state_.work -= static_cast<int64_t>(result.args.size());
  if (const auto* imm = b.constant()) { result.add(times(imm->value, sign)); }
  else if (const Sum* sum = b.sum()) { result.add(*sum, sign); }
  else { result.add(std::move(b).to_split(), sign); }
  return result;
}

auto CanonicalSimplifier::product(const Expr& expr) -> Form {
  const auto& n = *expr.as<Mul>();
  Form a = mutate(n.a);
  Form b = mutate(n.b);
  if (a.expr() && b.expr()) { if (Expr folded = try_fold(NodeKind::Mul, a.expr(), b.expr())) { return folded; } }
  // Two constants that did not fold: their product overflows the type.
  if (a.constant() && b.constant()) {
    has_left = true;
    return expr;
  }
  if (a.constant()) { std::swap(a, b); }
  if (const auto* c = b.constant()) {
    if (c->value == 0) { return b; }
    if (c->value == 1) { return a; }
    if (a.sum()) {
      a.sum()->multiply(c->value);
      return a;
    }
    int64_t factor = c->value;
    Split split = std::move(a).to_split();
    split.scale = times(split.scale, factor);
    return split;
  }
  Expr x = a.normalize(), y = b.normalize();
  Expr result = multiply_normalized(x, y);
  each_factor(result, [&](const Expr&) { state_.work -= 4; });
  const auto* m = result.as<Mul>();
  return m && m->a.same_as(n.a) && m->b.same_as(n.b) ? expr : result;
}

auto CanonicalSimplifier::divide(Split split, int64_t value, Mode mode) -> Split {
  auto converted = [&](Split s) {
    if (!s.fits_mode(mode)) { Expr e = s.normalize(); DataType t = e.dtype(); s = Split{.index = std::move(e), .dtype = t}; }
    s.mode = mode;
    return s;
  };
  split = converted(std::move(split));
  if (trunc_mod(split.scale, value) == 0) { split.scale = trunc_div(split.scale, value); return split; }
  // Floor division rounds -(x // 2) and x // -2 differently: a negative scale folds only into splits without division.
  bool folds = mode == Mode::Trunc || split.scale > 0 || split.lower == 1;
  if (folds && trunc_mod(value, split.scale) == 0) {
    int64_t scaled = trunc_div(value, split.scale);
    int64_t lower = times(split.lower, scaled);
    if (split.upper == no_upper || trunc_mod(split.upper, lower) == 0) {
      split.scale = 1;
      split.lower = lower;
      return split;
    }
    // (x % c1) / c2 is 0 when c2 >= c1, if x % c1 is not negative, as it may be for negative c1.
    if (split.upper > 0 && split.upper <= lower) { return {.index = zero(split.dtype), .dtype = split.dtype}; }
    Expr bound = constant_of(split.dtype, split.upper);
    split.index = mode == Mode::Trunc ? truncmod(split.index, bound) : floormod(split.index, bound);
    split.upper = no_upper;
    split.scale = 1;
    split.lower = lower;
    return split;
  }
  Split whole{.index = split.normalize(), .dtype = split.dtype, .mode = mode};
  whole.lower = value;
  return whole;
}

auto CanonicalSimplifier::quotient(const Expr& expr, Mode mode) -> Form {
  const auto& n = *static_cast<const BinaryNode*>(expr.get());
  Form a = mutate(n.a);
  Form b = mutate(n.b);
  if (a.expr() && b.expr()) { if (Expr folded = try_fold(expr.kind(), a.expr(), b.expr())) { return folded; } }
  if (const auto* c = a.constant(); c && c->value == 0) { return a; }
  if (const auto* c = b.constant(); c && c->value > 0 && c->value != no_upper) {
    int64_t value = c->value;
    if (value == 1) { return a; }
    if (const Sum* sum = a.sum()) {
      auto [lhs, extra] = sum->separate(value);
      if (extra.is_zero()) { lhs.divide_exactly(value); return lhs; }
      bool exact = mode == Mode::Floor;
      if (!exact) { exact = prove_ge(lhs.normalize(), 0) && prove_ge(extra.normalize(), 0); }
      if (exact) {
        lhs.divide_exactly(value);
        Expr rest = extra.normalize();
        if (const auto* imm = rest.as<IntImm>()) {
          lhs.add(mode == Mode::Floor ? floor_div(imm->value, value) : trunc_div(imm->value, value));
        } else if (!(compare(rest, value) == Order::LT && (mode == Mode::Trunc || prove_ge(rest, 0)))) {
          lhs.add(divide(Form(rest).to_split(), value, mode), 1);
        }
        return lhs;
      }
    } else {
      ConstIntBound bound = const_int_bound(state_, a.normalize());
      if (bound.min >= 0 && bound.max < value) { return zero(a.dtype()); }
    }
    return divide(std::move(a).to_split(), value, mode);
  }
  Expr x = a.normalize(), y = b.normalize(), common;
  if (cancel_factors(x, y, common)) { return mode == Mode::Trunc ? div(x, y) : floordiv(x, y); }
  if (x.same_as(n.a) && y.same_as(n.b)) { return expr; }
  return mode == Mode::Trunc ? Expr(make<Div>(x, y)) : Expr(make<FloorDiv>(x, y));
}

auto CanonicalSimplifier::take_remainder(Split split, int64_t value, Mode mode) -> Split {
  if (!split.fits_mode(mode)) { split = Split{.index = split.normalize(), .dtype = split.dtype}; }
  split.mode = mode;
  if (trunc_mod(split.scale, value) == 0) { split.scale = 0; return split; }
  bool folds = mode == Mode::Trunc || split.scale > 0 || split.lower == 1;
  if (folds && trunc_mod(value, split.scale) == 0) {
    //   (index % upper) / lower * scale % (c * scale)
    // = (index % upper) / lower % c * scale
    // = (index % upper) % (c * lower) / lower * scale
    int64_t upper = times(split.lower, trunc_div(value, split.scale));
    if (split.upper == no_upper || (upper != 0 && trunc_mod(split.upper, upper) == 0)) {
      if (upper < split.upper && split.upper != no_upper) {
        Expr bound = constant_of(split.dtype, upper);
        Expr inner = visit(mode == Mode::Trunc ? truncmod(split.index, bound) : floormod(split.index, bound));
        Split updated = Form(inner).to_split();
        if (split.lower != 1) { updated = divide(std::move(updated), split.lower, mode); }
        updated.scale = times(updated.scale, split.scale);
        return updated;
      }
      split.upper = upper;
      return split;
    }
    if (trunc_mod(upper, split.upper) == 0 && (mode == Mode::Trunc || (split.scale > 0 && split.upper > 0))) { return split; }
  }
  Split whole{.index = split.normalize(), .dtype = split.dtype, .mode = mode};
  whole.upper = value;
  return whole;
}

auto CanonicalSimplifier::remainder(const Expr& expr, Mode mode) -> Form {
  const auto& n = *static_cast<const BinaryNode*>(expr.get());
  Form a = mutate(n.a);
  Form b = mutate(n.b);
  if (a.expr() && b.expr()) { if (Expr folded = try_fold(expr.kind(), a.expr(), b.expr())) { return folded; } }
  if (const auto* c = a.constant(); c && c->value == 0) { return a; }
  if (const auto* c = b.constant(); c && c->value > 0 && c->value != no_upper) {
    int64_t value = c->value;
    if (a.sum() && mode == Mode::Floor) {
      Sum extra = a.sum()->separate(value).second;
      Expr rest = extra.normalize();
      if (const auto* imm = rest.as<IntImm>()) { return constant_int(a.dtype(), floor_mod(imm->value, value)); }
      if (compare(rest, value) == Order::LT && prove_ge(rest, 0)) { return rest; }
      // (x - 5) % 3 = (x + 1) % 3
      extra.base = floor_mod(extra.base, value);
      return take_remainder(Form(std::move(extra)).to_split(), value, mode);
    }
    if (a.sum()) {
      auto [lhs, extra] = a.sum()->separate(value);
      if (extra.is_zero()) { return zero(a.dtype()); }
      if (prove_ge(lhs.normalize(), 0) && prove_ge(extra.normalize(), 0)) {
        Expr rest = extra.normalize();
        if (const auto* imm = rest.as<IntImm>()) { return constant_int(a.dtype(), trunc_mod(imm->value, value)); }
        if (compare(rest, value) == Order::LT) { return rest; }
        a = Form(std::move(extra));
      }
      // (x - 5) % 3 = (x - 2) % 3 if x - 5 >= 0
      ConstIntBound bound = const_int_bound(state_, a.normalize());
      int64_t base = trunc_mod(a.sum()->base, value);
      if (bound.min >= 0 && wrap_add(wrap_sub(bound.min, a.sum()->base), base) >= 0) {
        Sum shifted = *a.sum();
        shifted.base = base;
        return take_remainder(Form(std::move(shifted)).to_split(), value, mode);
      }
    } else {
      ConstIntBound bound = const_int_bound(state_, a.normalize());
      if (bound.min >= 0 && bound.max < value) { return a; }
    }
    return take_remainder(std::move(a).to_split(), value, mode);
  }
  Expr x = a.normalize(), y = b.normalize(), common;
  if (cancel_factors(x, y, common)) { return mul(mode == Mode::Trunc ? truncmod(x, y) : floormod(x, y), common); }
  if (x.same_as(n.a) && y.same_as(n.b)) { return expr; }
  return mode == Mode::Trunc ? Expr(make<Mod>(x, y)) : Expr(make<FloorMod>(x, y));
}

auto CanonicalSimplifier::fits(DataType dtype, const Expr& value) -> bool {
  if (!is_index_type(dtype)) { return false; }
  if (value.dtype().bits <= dtype.bits) { return true; }
  ConstIntBound bound = const_int_bound(state_, value), all = bound_of_type(dtype);
  return bound.min >= all.min && bound.max <= all.max;
}
auto CanonicalSimplifier::can_cast(const Split& s, DataType dtype) -> bool {
  if (dtype.bits >= s.dtype.bits || s.scale == 0) { return true; }
  // Every intermediate value must fit.
  if (!fits(dtype, s.index)) { return false; }
  Split part = s;
  part.scale = 1;
  part.lower = 1;
  if (s.upper != no_upper && !fits(dtype, part.normalize())) { return false; }
  part.lower = s.lower;
  if (s.lower != 1 && !fits(dtype, part.normalize())) { return false; }
  return s.scale == 1 || fits(dtype, s.normalize());
}
auto CanonicalSimplifier::can_cast(const Sum& sum, DataType dtype) -> bool {
  if (dtype.bits >= sum.dtype.bits) { return true; }
  Expr partial = zero(dtype);
  auto step = [&](Expr next) { partial = std::move(next); return fits(dtype, partial); };
  bool add_base = sum.base > 0 || is_min_value(dtype, sum.base);
  for (const Split& s : sum.args) { if (s.scale > 0 && !step(add(partial, s.normalize()))) { return false; } }
  if (add_base && !step(add(partial, constant_int(sum.dtype, sum.base)))) { return false; }
  for (const Split& s : sum.args) { if (s.scale < 0 && !step(sub(partial, s.normalize(-1)))) { return false; } }
  if (sum.base < 0 && !add_base && !step(sub(partial, constant_int(sum.dtype, -sum.base)))) { return false; }
  for (const Split& s : sum.args) { if (!can_cast(s, dtype)) { return false; } }
  return true;
}

// Moves a cast to the leaves where no intermediate value can overflow.
auto CanonicalSimplifier::conversion(const Expr& expr) -> Form {
  const auto* n = expr.as<Cast>();
  Form value = mutate(n->value);
  auto push = [&](Split& s) {
    s.index = cast(n->dtype, s.index);
    s.dtype = n->dtype;
  };
  if (value.sum() && value.dtype().is_int() && can_cast(*value.sum(), n->dtype)) {
    for (Split& s : value.sum()->args) { push(s); }
    value.sum()->dtype = n->dtype;
    return value;
  }
  if (value.split() && value.dtype().is_int() && can_cast(*value.split(), n->dtype)) {
    push(*value.split());
    return value;
  }
  return rewrite(expr);
}

// True when `rest`, which lies in (-factor, 0], is 0 wherever the variable of the term is 0. Then the term alone decides the sign of
// its sum with `rest`: where the term is not 0, `rest` is too small to change the sign.
auto CanonicalSimplifier::vanishes_with(const Split& term, const Expr& rest, int64_t factor) -> bool {
  const auto* v = term.index.as<VarNode>();
  if (!v || term.lower != 1 || term.upper != no_upper) { return false; }
  ConstIntBound bound = const_int_bound(state_, rest), at = const_int_bound(state_, term.index);
  if (bound.max > 0 || bound.min <= -factor || term.scale >= 0 || at.min < 0) { return false; }
  return is_zero(state_.owner->rewrite_simplify(substitute(rest, {{v, zero(term.dtype)}})));
}

// True if a sum is proved to be at least 0 after subtracted quotients and remainders are replaced by the whole values that they are parts of.
auto CanonicalSimplifier::is_never_negative(const Sum& sum) -> bool {
  // The value of which an expression is a quotient or remainder; none if this value is not known to be nonnegative.
  auto whole_of = [&](const Expr& e) -> Expr {
    auto operand = [&](const Expr& a, const Expr& b) { return as_int(b).value_or(0) > 0 && prove_ge(a, 0) ? a : Expr(); };
    if (const auto* n = e.as<FloorDiv>()) { return operand(n->a, n->b); }
    if (const auto* n = e.as<FloorMod>()) { return operand(n->a, n->b); }
    if (const auto* n = e.as<Div>()) { return operand(n->a, n->b); }
    if (const auto* n = e.as<Mod>()) { return operand(n->a, n->b); }
    return {};
  };
  if (sum.args.size() < 2) { return false; }
  bool is_changed = false;
  Expr least = constant_int(sum.dtype, sum.base);
  for (const Split& s : sum.args) {
    Split whole = s;
    if (s.scale < 0 && (s.lower > 1 || s.upper != no_upper) && prove_ge(s.index, 0)) {
      whole.lower = 1;
      whole.upper = no_upper;
      is_changed = true;
    }
    if (s.scale < 0 && whole.lower == 1 && whole.upper == no_upper) {
      for (Expr inner = whole_of(whole.index); inner; inner = whole_of(inner)) {
        whole.index = inner;
        is_changed = true;
      }
    }
    least = add(std::move(least), whole.normalize());
  }
  return is_changed && const_int_bound(state_, visit(least)).min >= 0;
}

// Writes a < b as sum < 0. With d the greatest common divisor of the larger scales and the constant:
//     x0 * s0 + ... + xn + c < 0  and  0 <= xn < d     ==>  x0 * (s0 / d) + ... < -c / d
//     ... and xn = (y % m) with d dividing m           ==>  ... + (y // d) % (m / d) < -c / d
// A quotient or remainder of a nonnegative value is no larger than the value:
//     x * 6 - x / 2 % 6 < 0                            ==>  False
auto CanonicalSimplifier::less_than(const Expr& expr) -> Form {
  const auto* n = expr.as<LT>();
  if (!is_index_type(n->a.dtype())) { return rewrite(expr); }
  Form difference = mutate(sub(n->a, n->b));
  if (const Sum* sum = difference.sum()) {
    if (is_never_negative(*sum)) { return rewrite(constant_int(expr.dtype(), 0)); }
    int64_t gcd = sum->base;
    bool scaled = false;
    for (const Split& s : sum->args) {
      if (s.scale > 1 || s.scale < -1) {
        scaled = true;
        gcd = gcd_of(gcd, s.scale);
      }
    }
    if (!scaled || gcd <= 1) { return rewrite(expr); }
    auto [divisible, extra] = sum->separate(gcd);
    DataType dtype = sum->dtype;
    Expr rest = extra.normalize();
    Analyzer& analyzer = *state_.owner;
    if (analyzer.can_prove(less(rest, constant_int(dtype, gcd))) && analyzer.can_prove_greater_equal(rest, 0)) {
      divisible.divide_exactly(gcd);
      return rewrite(less(divisible.normalize(), zero(dtype)));
    }
    if (divisible.base == 0 && divisible.args.size() == 1 && vanishes_with(divisible.args[0], rest, gcd)) {
      divisible.divide_exactly(gcd);
      return rewrite(less(divisible.normalize(), zero(dtype)));
    }
    if (extra.args.size() == 1 && extra.base == 0 && extra.args[0].scale == 1 && extra.args[0].mode == Mode::Floor &&
        extra.args[0].upper > 0 && extra.args[0].lower > 0 && extra.args[0].upper != no_upper && trunc_mod(extra.args[0].upper, times(gcd, extra.args[0].lower)) == 0) {
      divisible.divide_exactly(gcd);
      int64_t lower = times(gcd, extra.args[0].lower);
      Expr coarse = floormod(floordiv(extra.args[0].index, constant_int(dtype, lower)), constant_int(dtype, extra.args[0].upper / lower));
      return rewrite(less(add(divisible.normalize(), coarse), zero(dtype)));
    }
  }
  return rewrite(expr);
}

}  // namespace loopsmith::arith
