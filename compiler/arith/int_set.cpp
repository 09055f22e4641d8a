// Intervals with symbolic ends: see int_set.h. After TVM 0.19's IntervalSet, with ends of the same form.
#include "arith/int_set.h"

#include "arith/rewrite.h"
#include "arith/state.h"
#include "arith/walk.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

auto intersect_two(Analyzer& analyzer, const IntSet& a, const IntSet& b) -> IntSet {
  if (a.is_nothing() || b.is_nothing()) { return IntSet::nothing(); }
  Expr lo = !a.min() ? b.min() : !b.min() ? a.min() : max(a.min(), b.min());
  Expr hi = !a.max() ? b.max() : !b.max() ? a.max() : min(a.max(), b.max());
  if (lo && hi && lo.dtype().is_integral() && analyzer.can_prove(less(hi, lo))) { return IntSet::nothing(); }
  return IntSet::interval(std::move(lo), std::move(hi));
}

auto union_two(const IntSet& a, const IntSet& b) -> IntSet {
  if (a.is_nothing()) { return b; }
  if (b.is_nothing()) { return a; }
  return IntSet::interval(a.min() && b.min() ? min(a.min(), b.min()) : Expr(), a.max() && b.max() ? max(a.max(), b.max()) : Expr());
}

auto simplified(Analyzer& analyzer, const IntSet& set) -> IntSet {
  if (set.is_nothing()) { return set; }
  Expr lo = set.min() ? analyzer.simplify(set.min()) : Expr();
  Expr hi = set.is_single_point() ? lo : set.max() ? analyzer.simplify(set.max()) : Expr();
  return IntSet::interval(lo, hi);
}

auto point_of(const Expr& e) -> IntSet { return IntSet::single_point(e); }

// False when an end overflows its type: ends combine ends of operands that may never occur together, so this can happen in correct programs.
auto stays(NodeKind kind, const Expr& x, const Expr& y) -> bool {
  const auto* a = x.as<IntImm>();
  const auto* b = y.as<IntImm>();
  return !a || !b || !is_index_type(x.dtype()) || fold_is_exact(kind, x.dtype(), a->value, b->value);
}
auto cast_end(DataType to, const Expr& e) -> Expr {
  const auto* imm = e.as<IntImm>();
  return !e || (imm && is_index_type(to) && !fits(to, imm->value)) ? Expr() : cast(to, e);
}

// Computes the values of expressions over domains of variables, interval by interval.
class Evaluator {
  static constexpr int64_t cost = 8;   // work per node: ends are new expressions
 public:
  Evaluator(Analyzer& analyzer, const DomMap* dom) : analyzer_(analyzer), dom_(dom), domains_(dom ? dom->size() : 0) {
    if (dom_) { return; }
    for (const auto& [var, facts] : analyzer_.state().vars) { domains_ += facts.domain ? 1 : 0; }
  }

  auto eval(const Expr& e) -> IntSet {
    if ((analyzer_.state().work -= cost) < 0 || depth_ > Analyzer::State::max_depth) { return IntSet::everything(); }
    struct Depth { int& d; explicit Depth(int& x) : d(x) { ++d; } ~Depth() { --d; } } depth(depth_);
    switch (e.kind()) {
      case NodeKind::IntImm: return point_of(e);
      case NodeKind::VarNode: return variable(e);
      case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::Div: case NodeKind::Mod:
      case NodeKind::FloorDiv: case NodeKind::FloorMod: case NodeKind::Min: case NodeKind::Max: case NodeKind::EQ:
      case NodeKind::NE: case NodeKind::LT: case NodeKind::LE: case NodeKind::GT: case NodeKind::GE:
      case NodeKind::And: case NodeKind::Or: {
        const auto& n = *static_cast<const BinaryNode*>(e.get());
        IntSet a = eval(n.a), b = eval(n.b);
        if (is_the_point(a, n.a) && is_the_point(b, n.b)) {
          Expr folded = n.a.as<IntImm>() && n.b.as<IntImm>() ? try_fold(e.kind(), n.a, n.b) : Expr();
          return point_of(folded ? folded : e);
        }
        return combine(e, a, b);
      }
      case NodeKind::Select: return union_two(eval(e.as<Select>()->false_value), eval(e.as<Select>()->true_value));
      case NodeKind::Cast: {
        const auto* n = e.as<Cast>();
        IntSet value = eval(n->value);
        if (value.is_nothing()) { return value; }
        if (value.is_single_point()) { return point_of(cast(n->dtype, value.point())); }
        return IntSet::interval(cast_end(n->dtype, value.min()), cast_end(n->dtype, value.max()));
      }
      case NodeKind::BufferLoad: {
        const auto* n = e.as<BufferLoad>();
        if (!n->dtype.is_integral()) { return IntSet::everything(); }
        for (const Expr& index : n->indices) {
          if (any_variable(index, [&](const VarNode& v) { return domain_of(v) != nullptr; })) { return IntSet::everything(); }
        }
        return point_of(e);
      }
      case NodeKind::Broadcast: return eval(e.as<Broadcast>()->value);
      case NodeKind::Ramp: {
        const auto* n = e.as<Ramp>();
        auto stride = as_int(n->stride);
        auto lanes = as_int(n->lanes);
        if (!stride || !lanes) { return IntSet::everything(); }
        DataType t = n->base.dtype();
        Expr far = constant_int(t, *stride * (*lanes - 1));
        IntSet steps = *stride > 0 ? IntSet::interval(zero(t), far) : IntSet::interval(far, zero(t));
        IntSet base = eval(n->base);
        if (base.is_nothing()) { return base; }
        auto end = [](const Expr& x, const Expr& y) { return x && stays(NodeKind::Add, x, y) ? add(x, y) : Expr(); };
        return IntSet::interval(end(base.min(), steps.min()), end(base.max(), steps.max()));
      }
      case NodeKind::FloatImm: case NodeKind::StringImm: case NodeKind::Not: case NodeKind::Shuffle: case NodeKind::Let:
      case NodeKind::Reduce: return IntSet::everything();
      case NodeKind::Call: {
        // A call that depends on no varying variable is a single point.
        bool fixed = e.dtype().is_integral() && is_read_only(e) && !any_variable(e, [&](const VarNode& v) { return domain_of(v) != nullptr; });
        return fixed ? point_of(e) : IntSet::everything();
      }
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
        return IntSet::everything();
    }
    return IntSet::everything();
  }

  // Ends may contain varying variables, which are replaced in turn; the number of variables bounds the depth.
  auto eval(const IntSet& set) -> IntSet {
    if (recursion_ >= domains_ || set.is_nothing()) { return set; }
    ++recursion_;
    IntSet lo = set.min() ? eval(set.min()) : IntSet::everything();
    IntSet hi = set.max() ? eval(set.max()) : IntSet::everything();
    --recursion_;
    if (lo.is_nothing() || hi.is_nothing()) { return IntSet::nothing(); }
    return IntSet::interval(lo.min(), hi.max());
  }

 private:
  auto domain_of(const VarNode& var) const -> const IntSet* {
    if (dom_) {
      auto it = dom_->find(&var);
      return it == dom_->end() ? nullptr : &it->second;
    }
    const VarFacts* facts = analyzer_.state().find(&var);
    return facts && facts->domain ? &*facts->domain : nullptr;
  }

  auto variable(const Expr& e) -> IntSet {
    const VarNode* var = e.as<VarNode>();
    std::vector<IntSet> sets;
    if (!dom_) {
      for (const auto& [scoped, set] : analyzer_.state().scoped_domains) { if (scoped.get() == var) { sets.push_back(set); } }
    }
    if (const IntSet* domain = domain_of(*var)) { sets.push_back(*domain); }
    if (sets.empty()) { return point_of(e); }
    IntSet set = sets.size() == 1 ? sets[0] : intersect(sets);
    if (is_the_point(set, e)) { return set; }
    return eval(set);
  }

  static auto is_the_point(const IntSet& set, const Expr& e) -> bool { return set.is_single_point() && set.point().same_as(e); }

  // [a.min op v, a.max op v] for nonnegative v, with swapped ends for negative v, and with a Select where the sign
  // of v is unknown.
  template <class F>
  auto scale(const IntSet& a, const Expr& v, F op) -> IntSet {
    auto end = [&](const Expr& e) { return e ? op(e, v) : Expr(); };
    if (analyzer_.can_prove_greater_equal(v, 0)) { return IntSet::interval(end(a.min()), end(a.max())); }
    const auto* imm = v.as<IntImm>();   // the smallest number has no negation
    if (imm ? imm->value < 0 : analyzer_.can_prove_greater_equal(sub(zero(v.dtype()), v), 1)) { return IntSet::interval(end(a.max()), end(a.min())); }
    if (!a.min() || !a.max()) { return IntSet::everything(); }
    Expr sign = greater_equal(v, zero(v.dtype()));
    Expr first = op(a.min(), v), second = op(a.max(), v);
    if (!first || !second) { return IntSet::everything(); }
    return IntSet::interval(make<Select>(sign, first, second), make<Select>(sign, second, first));
  }

  auto remainder(const IntSet& a, const Expr& divisor, bool floor) -> IntSet {
    Expr unit = one(divisor.dtype());
    if (!analyzer_.can_prove_greater_equal(divisor, 0)) {
      if (const auto* imm = divisor.as<IntImm>(); imm && !fits(imm->dtype, -__int128(imm->value))) { return IntSet::everything(); }
      Expr bound = sub(max(divisor, sub(zero(divisor.dtype()), divisor)), unit);
      return IntSet::interval(sub(zero(divisor.dtype()), bound), bound);
    }
    if (floor && divisor.as<IntImm>() && a.min() && a.max()) {
      // All of a is within one period: the remainder is a shift.
      Expr qmax = floordiv(a.max(), divisor), qmin = floordiv(a.min(), divisor);
      if (analyzer_.can_prove(equal(qmax, qmin)) && stays(NodeKind::Mul, divisor, qmin)) {
        return IntSet::interval(sub(a.min(), mul(divisor, qmin)), sub(a.max(), mul(divisor, qmin)));
      }
    }
    Expr top = sub(divisor, unit);
    // A truncated remainder has the sign of the dividend.
    bool positive = floor || (a.min() && analyzer_.can_prove_greater_equal(a.min(), 0));
    return IntSet::interval(positive ? zero(divisor.dtype()) : sub(zero(divisor.dtype()), top), top);
  }

  auto combine(const Expr& e, IntSet a, IntSet b) -> IntSet {
    using enum NodeKind;
    NodeKind kind = e.kind();
    auto fold = [&](const Expr& x, const Expr& y) -> Expr {
      if (!stays(kind, x, y)) { return {}; }
      switch (kind) {
        case Add: return add(x, y);
        case Sub: return sub(x, y);
        case Mul: return mul(x, y);
        case Div: return div(x, y);
        case Mod: return truncmod(x, y);
        case FloorDiv: return floordiv(x, y);
        case FloorMod: return floormod(x, y);
        case Min: return min(x, y);
        case Max: return max(x, y);
        case EQ: return equal(x, y);
        case NE: return not_equal(x, y);
        case LT: return less(x, y);
        case LE: return less_equal(x, y);
        case GT: return greater(x, y);
        case GE: return greater_equal(x, y);
        case And: return logical_and(x, y);
        default: return logical_or(x, y);
      }
    };
    if (a.is_single_point() && b.is_single_point()) {
      Expr point = fold(a.point(), b.point());
      return point ? point_of(point) : IntSet::everything();
    }
    if (e.dtype().is_bool()) { return IntSet::interval(bool_imm(false), bool_imm(true)); }
    if (a.is_nothing()) { return a; }
    if (b.is_nothing()) { return b; }
    // Wrapping arithmetic has no useful ends.
    if (wraps(e.dtype()) && kind != Min && kind != Max) { return IntSet::everything(); }
    auto ends = [](const Expr& x, const Expr& y, auto op) { return x && y ? op(x, y) : Expr(); };
    switch (kind) {
      case Add: return IntSet::interval(ends(a.min(), b.min(), fold), ends(a.max(), b.max(), fold));
      case Sub: return IntSet::interval(ends(a.min(), b.max(), fold), ends(a.max(), b.min(), fold));
      case Mul: {
        if (a.is_single_point()) { std::swap(a, b); }
        if (!b.is_single_point()) { return IntSet::everything(); }
        if (is_zero(b.point())) { return b; }
        if (is_one(b.point())) { return a; }
        return scale(a, b.point(), fold);
      }
      case Div: case FloorDiv:
        if (!b.is_single_point() || is_zero(b.point())) { return IntSet::everything(); }
        return is_one(b.point()) ? a : scale(a, b.point(), fold);
      case Mod: case FloorMod:
        if (!b.is_single_point() || is_zero(b.point())) { return IntSet::everything(); }
        return remainder(a, b.point(), kind == FloorMod);
      case Min: {
        // If only one operand has a finite maximum, it is an upper bound of the minimum.
        Expr hi = a.max() && b.max() ? min(a.max(), b.max()) : a.max() ? a.max() : b.max();
        return IntSet::interval(ends(a.min(), b.min(), fold), hi);
      }
      case Max: {
        Expr lo = a.min() && b.min() ? max(a.min(), b.min()) : a.min() ? a.min() : b.min();
        return IntSet::interval(lo, ends(a.max(), b.max(), fold));
      }
      default: return IntSet::everything();
    }
  }

  Analyzer& analyzer_;
  const DomMap* dom_;
  size_t domains_;
  size_t recursion_ = 0;
  int depth_ = 0;
};

}  // namespace

auto IntSet::nothing() -> IntSet {
  IntSet set;
  set.empty_ = true;
  return set;
}
auto IntSet::single_point(Expr point) -> IntSet {
  IntSet set;
  set.min_ = set.max_ = std::move(point);
  return set;
}
auto IntSet::interval(Expr min, Expr max) -> IntSet {
  IntSet set;
  set.min_ = std::move(min);
  set.max_ = std::move(max);
  return set;
}
auto IntSet::from_min_extent(const Expr& min, const Expr& extent) -> IntSet {
  if (is_one(extent)) { return single_point(min); }
  return interval(min, sub(add(extent, min), one(extent.dtype())));
}
auto IntSet::from_range(const Range& range) -> IntSet { return from_min_extent(range.min, range.extent); }

auto IntSet::can_prove_single_point(Analyzer& analyzer) const -> bool {
  return is_single_point() || (!empty_ && min_ && max_ && analyzer.can_prove_equal(min_, max_));
}
auto IntSet::can_prove_non_negative(Analyzer& analyzer) const -> bool {
  if (empty_ || !min_) { return false; }
  auto value = as_int(analyzer.simplify(min_));
  return value && *value >= 0;
}
auto IntSet::cover_range(const Range& otherwise, Analyzer& analyzer) const -> Range {
  if (empty_ || !min_ || !max_) { return otherwise; }
  return {analyzer.simplify(min_), analyzer.simplify(sub(add(max_, one(max_.dtype())), min_))};
}
auto IntSet::cover_range(const Range& otherwise) const -> Range {
  Analyzer analyzer;
  return cover_range(otherwise, analyzer);
}

auto intersect(const std::vector<IntSet>& sets, Analyzer& analyzer) -> IntSet {
  if (sets.empty()) { return IntSet::nothing(); }
  IntSet result = sets[0];
  for (size_t i = 1; i < sets.size(); ++i) { result = intersect_two(analyzer, result, sets[i]); }
  return sets.size() == 1 ? result : simplified(analyzer, result);
}
auto intersect(const std::vector<IntSet>& sets) -> IntSet {
  if (sets.size() == 1) { return sets[0]; }
  Analyzer analyzer;
  return intersect(sets, analyzer);
}
auto union_of(const std::vector<IntSet>& sets, Analyzer& analyzer) -> IntSet {
  if (sets.empty()) { return IntSet::nothing(); }
  IntSet result = sets[0];
  for (size_t i = 1; i < sets.size(); ++i) { result = union_two(result, sets[i]); }
  return sets.size() == 1 ? result : simplified(analyzer, result);
}
auto union_of(const std::vector<IntSet>& sets) -> IntSet {
  if (sets.size() == 1) { return sets[0]; }
  Analyzer analyzer;
  return union_of(sets, analyzer);
}

auto union_lower_bound(const std::vector<IntSet>& sets) -> IntSet {
  if (sets.empty()) { return IntSet::nothing(); }
  if (sets.size() == 1) { return sets[0]; }
  Analyzer analyzer;
  bool first = true;
  Expr lo, hi;
  for (const IntSet& set : sets) {
    if (set.is_nothing()) { continue; }
    if (first) {
      first = false;
      lo = set.min();
      hi = set.max();
      continue;
    }
    auto touches = [&](const Expr& start, const Expr& end) {
      return !start || !end || analyzer.can_prove(less_equal(start, add(end, one(end.dtype()))));
    };
    if (touches(set.min(), hi) && touches(lo, set.max())) {
      lo = lo && set.min() ? min(lo, set.min()) : Expr();
      hi = hi && set.max() ? max(hi, set.max()) : Expr();
    }
  }
  return first ? IntSet::nothing() : IntSet::interval(lo, hi);
}

namespace {
template <class F>
auto by_dimension(const std::vector<std::vector<IntSet>>& regions, F combine) -> std::vector<IntSet> {
  std::vector<IntSet> result;
  if (regions.empty()) { return result; }
  for (size_t i = 0; i < regions[0].size(); ++i) {
    std::vector<IntSet> sets;
    for (const auto& region : regions) { sets.push_back(region[i]); }
    result.push_back(combine(sets));
  }
  return result;
}
}  // namespace

auto union_region(const std::vector<std::vector<IntSet>>& regions) -> std::vector<IntSet> {
  return by_dimension(regions, [](const std::vector<IntSet>& sets) { return union_of(sets); });
}
auto union_region_lower_bound(const std::vector<std::vector<IntSet>>& regions) -> std::vector<IntSet> {
  return by_dimension(regions, [](const std::vector<IntSet>& sets) { return union_lower_bound(sets); });
}

auto as_dom_map(const RangeMap& ranges) -> DomMap {
  DomMap out;
  for (const auto& [var, range] : ranges) { out.emplace(var, IntSet::from_range(range)); }
  return out;
}

auto eval_set(const Expr& expr, const DomMap& dom, Analyzer& analyzer) -> IntSet {
  Question question(analyzer.state());
  return Evaluator(analyzer, &dom).eval(expr);
}
auto eval_set(const Expr& expr, const DomMap& dom) -> IntSet {
  Analyzer analyzer;
  return eval_set(expr, dom, analyzer);
}
auto eval_set(const Range& range, const DomMap& dom, Analyzer& analyzer) -> IntSet {
  Question question(analyzer.state());
  if (range.min.dtype().is_integral() && analyzer.can_prove_equal(range.extent, one(range.extent.dtype()))) {
    return eval_set(range.min, dom, analyzer);
  }
  // The last value is simplified first, because min and extent may share variables.
  Expr last = analyzer.simplify(sub(add(range.min, range.extent), one(range.extent.dtype())));
  return Evaluator(analyzer, &dom).eval(IntSet::interval(range.min, last));
}
auto eval_set(const Range& range, const DomMap& dom) -> IntSet {
  Analyzer analyzer;
  return eval_set(range, dom, analyzer);
}
auto eval_set(const Array<Range>& region, const DomMap& dom) -> std::vector<IntSet> {
  Analyzer analyzer;
  std::vector<IntSet> out;
  for (const Range& range : region) {
    Question question(analyzer.state());
    Expr last = analyzer.simplify(add(range.min, sub(range.extent, one(range.extent.dtype()))));
    out.push_back(Evaluator(analyzer, &dom).eval(IntSet::interval(range.min, last)));
  }
  return out;
}

auto Analyzer::int_set(const Expr& expr, const DomMap& dom) -> IntSet { Question question(*state_); return Evaluator(*this, &dom).eval(expr); }
auto Analyzer::int_set(const Expr& expr) -> IntSet { Question question(*state_); return Evaluator(*this, nullptr).eval(expr); }

void bind_domain(Analyzer::State& state, const Var& var, IntSet set) { state.facts(var).domain = std::move(set); }

void enter_domains(Analyzer::State& state, const Expr& constraint) {
  for (const Expr& fact : facts_of(constraint, false)) {
    NodeKind kind = fact.kind();
    if (kind != NodeKind::LE && kind != NodeKind::LT && kind != NodeKind::GE && kind != NodeKind::GT && kind != NodeKind::EQ) { continue; }
    const auto& n = *static_cast<const BinaryNode*>(fact.get());
    auto add_bound = [&](const Expr& variable, const Expr& limit, NodeKind op) {
      const auto* v = variable.as<VarNode>();
      if (!v || !limit.dtype().is_integral()) { return; }
      Expr unit = one(limit.dtype());
      IntSet set = op == NodeKind::LE   ? IntSet::interval({}, limit)
                   : op == NodeKind::LT ? IntSet::interval({}, sub(limit, unit))
                   : op == NodeKind::GE ? IntSet::interval(limit, {})
                   : op == NodeKind::GT ? IntSet::interval(add(limit, unit), {})
                                        : IntSet::single_point(limit);
      state.scoped_domains.emplace_back(Var(v), std::move(set));
    };
    auto mirrored = [](NodeKind k) {
      return k == NodeKind::LE ? NodeKind::GE : k == NodeKind::LT ? NodeKind::GT : k == NodeKind::GE ? NodeKind::LE
             : k == NodeKind::GT ? NodeKind::LT : NodeKind::EQ;
    };
    add_bound(n.a, n.b, kind);
    add_bound(n.b, n.a, mirrored(kind));
  }
}

}  // namespace loopsmith::arith
