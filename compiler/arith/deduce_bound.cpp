// Bounds of a variable from a comparison, by inverting the operations on it step by step:
//
//     (x + y) * 4 < n     with y in [0, 7]      gives      x <= (n - 1) // 4 - 7
//
// An operation that cannot be inverted gives no bound. The result is then the empty set ("no value certainly satisfies it"), since the
// set of all values would be wrong.
#include "arith/int_set.h"
#include "arith/state.h"
#include "arith/walk.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

struct Side { bool upper; Expr bound; };     // target <= bound, or target >= bound

auto contains(const Expr& e, const Expr& target) -> bool {
  return any_node(e, [&](const Expr& n) { return n.same_as(target) || (n.kind() == target.kind() && deep_equal(n, target)); });
}

// Turns path <= bound (or >=) into target <= bound'. None if a step cannot be inverted exactly or safely.
auto peel(Expr path, Side side, const Expr& target, Analyzer& analyzer) -> std::optional<Side> {
  while (!(path.same_as(target) || deep_equal(path, target))) {
    if (const auto* n = path.as<Add>()) {
      bool left = contains(n->a, target);
      if (left == contains(n->b, target)) { return {}; }
      side.bound = sub(side.bound, left ? n->b : n->a);
      path = left ? n->a : n->b;
    } else if (const auto* s = path.as<Sub>()) {
      bool left = contains(s->a, target);
      if (left == contains(s->b, target)) { return {}; }
      if (left) {
        side.bound = add(side.bound, s->b);
        path = s->a;
      } else {
        side = {!side.upper, sub(s->a, side.bound)};
        path = s->b;
      }
    } else if (const auto* m = path.as<Mul>()) {
      bool left = contains(m->a, target);
      if (left == contains(m->b, target)) { return {}; }
      const Expr& factor = left ? m->b : m->a;
      Expr positive = factor;
      if (!analyzer.can_prove_greater_equal(factor, 1)) {
        positive = sub(zero(factor.dtype()), factor);
        if (!analyzer.can_prove_greater_equal(positive, 1)) { return {}; }
        side = {!side.upper, sub(zero(side.bound.dtype()), side.bound)};
      }
      // x * c <= b: x <= b // c.   x * c >= b: x >= ceil(b / c).
      side.bound = side.upper ? floordiv(side.bound, positive) : floordiv(add(side.bound, sub(positive, one(positive.dtype()))), positive);
      path = left ? m->a : m->b;
    } else if (const auto* d = path.as<FloorDiv>()) {
      if (!contains(d->a, target) || contains(d->b, target)) { return {}; }
      if (analyzer.can_prove_less(d->b, 0)) {
        // x // -c >= b: x <= -c * b.   x // -c <= b: x >= -c * (b + 1) + 1.
        Expr unit = one(d->b.dtype());
        side = side.upper ? Side{false, add(mul(add(side.bound, unit), d->b), unit)} : Side{true, mul(side.bound, d->b)};
        path = d->a;
        continue;
      }
      if (!analyzer.can_prove_greater_equal(d->b, 1)) { return {}; }
      // x // c <= b: x <= b * c + c - 1.   x // c >= b: x >= b * c.
      Expr scaled = mul(side.bound, d->b);
      side.bound = side.upper ? add(scaled, sub(d->b, one(d->b.dtype()))) : scaled;
      path = d->a;
    } else if (path.kind() == NodeKind::Min || path.kind() == NodeKind::Max) {
      const auto& n = *static_cast<const BinaryNode*>(path.get());
      bool left = contains(n.a, target);
      if (left == contains(n.b, target)) { return {}; }
      // min(x, y) <= b follows from x <= b; min(x, y) >= b also needs y >= b. The maximum is the mirror image.
      const Expr& other = left ? n.b : n.a;
      bool one_is_enough = side.upper == (path.kind() == NodeKind::Min);
      if (!one_is_enough && !analyzer.can_prove(side.upper ? less_equal(other, side.bound) : less_equal(side.bound, other))) { return {}; }
      path = left ? n.a : n.b;
    } else {
      return {};
    }
  }
  return side;
}

}  // namespace

auto deduce_bound(const Expr& var, const Expr& condition, const DomMap& hint, const DomMap& relax) -> IntSet {
  Analyzer analyzer;
  for (const auto& [v, set] : hint) {
    if (set.min() && set.max()) { analyzer.bind(Var(v), Range{set.min(), analyzer.simplify(add(sub(set.max(), set.min()), one(set.min().dtype())))}); }
  }
  const auto* n = condition.kind() == NodeKind::LT || condition.kind() == NodeKind::LE || condition.kind() == NodeKind::GT ||
                          condition.kind() == NodeKind::GE || condition.kind() == NodeKind::EQ
                      ? static_cast<const BinaryNode*>(condition.get()) : nullptr;
  if (!n || !n->a.dtype().is_integral()) { return IntSet::nothing(); }
  bool at_left = contains(n->a, var);
  if (at_left == contains(n->b, var)) { return IntSet::nothing(); }
  const Expr& path = at_left ? n->a : n->b;
  const Expr& bound = at_left ? n->b : n->a;
  Expr unit = one(bound.dtype());
  // The end of the bound that holds for all values of the relaxed variables.
  auto solve = [&](Side side) -> Expr {
    auto peeled = peel(path, side, var, analyzer);
    if (!peeled) { return {}; }
    IntSet set = eval_set(peeled->bound, relax, analyzer);
    Expr end = peeled->upper ? set.min() : set.max();
    return end ? analyzer.simplify(end) : Expr();
  };
  auto as_set = [&](Side side) -> IntSet {
    auto peeled = peel(path, side, var, analyzer);
    Expr end = solve(side);
    if (!peeled || !end) { return IntSet::nothing(); }
    return peeled->upper ? IntSet::interval({}, end) : IntSet::interval(end, {});
  };
  NodeKind kind = condition.kind();
  if (kind == NodeKind::EQ) {
    IntSet upper = as_set({true, bound}), lower = as_set({false, bound});
    return upper.is_nothing() || lower.is_nothing() ? IntSet::nothing() : intersect({lower, upper}, analyzer);
  }
  bool less = kind == NodeKind::LT || kind == NodeKind::LE;
  bool strict = kind == NodeKind::LT || kind == NodeKind::GT;
  bool upper = less == at_left;
  Expr end = !strict ? bound : upper ? sub(bound, unit) : add(bound, unit);
  return as_set({upper, end});
}

}  // namespace loopsmith::arith
