// Constant bounds of integer expressions, by interval arithmetic with infinities.
//
// A sum that overflows 64 bits becomes infinite; division assumes, as everywhere, that a divisor is not zero. Types that
// wrap around (all but int32 and int64, see ir/ir.h) get the bounds of their type if a result may overflow it.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "arith/state.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

constexpr int64_t pos_inf = ConstIntBound::pos_inf;
constexpr int64_t neg_inf = ConstIntBound::neg_inf;
using Bound = ConstIntBound;

auto make_bound(int64_t min, int64_t max) -> Bound { return {min == pos_inf ? min - 1 : min, max == neg_inf ? max + 1 : max}; }
auto negate(int64_t x) -> int64_t { return x == std::numeric_limits<int64_t>::min() ? pos_inf : -x; }

auto inf_add(int64_t x, int64_t y) -> int64_t {
  if (x == pos_inf || x == neg_inf) { return x; }
  if (y == pos_inf || y == neg_inf) { return y; }
  int64_t sum;
  if (__builtin_add_overflow(x, y, &sum) || sum < neg_inf) { return x > 0 ? pos_inf : neg_inf; }
  return sum;
}
auto inf_mul(int64_t x, int64_t y) -> int64_t {
  int64_t product;
  if (!__builtin_mul_overflow(x, y, &product) && product >= neg_inf) { return product; }
  return (x > 0) == (y > 0) ? pos_inf : neg_inf;
}
// A divisor can only be 0 under contradictory facts; any result is then correct.
auto inf_div(int64_t x, int64_t y) -> int64_t {
  if (y == 0) { return x; }
  if (x == pos_inf || x == neg_inf) { return y > 0 ? x : -x; }
  return trunc_div(x, y);
}
auto inf_floordiv(int64_t x, int64_t y) -> int64_t {
  if (y == 0) { return x; }
  if (x == pos_inf || x == neg_inf) { return y > 0 ? x : -x; }
  return floor_div(x, y);
}
auto inf_shift_right(int64_t x, int64_t y) -> int64_t {
  if (x == pos_inf || x == neg_inf) { return x; }
  return x >> std::clamp<int64_t>(y, 0, 63);
}
auto inf_shift_left(int64_t x, int64_t y) -> int64_t {
  if (x == pos_inf || x == neg_inf) { return x; }
  int width = 64 - (x == 0 ? 64 : __builtin_clzll(static_cast<uint64_t>(std::abs(x))));
  return y >= 0 && y < 64 - width ? static_cast<int64_t>(static_cast<uint64_t>(x) << y) : pos_inf;
}

// The bounds of a function that is monotonic in each operand: its values at the corners.
template <class F>
auto corners(Bound a, Bound b, F f) -> Bound {
  int64_t v1 = f(a.min, b.min), v2 = f(a.max, b.max), v3 = f(a.min, b.max), v4 = f(a.max, b.min);
  return {std::min(std::min(v1, v2), std::min(v3, v4)), std::max(std::max(v1, v2), std::max(v3, v4))};
}
auto unite(Bound a, Bound b) -> Bound { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }
auto meet(Bound a, Bound b) -> Bound { return {std::max(a.min, b.min), std::min(a.max, b.max)}; }

// A divisor range around 0 is split at 0: quotients are largest for the smallest divisors.
template <class F>
auto divide(Bound a, Bound b, DataType dtype, F f) -> Bound {
  if (b.min <= 0 && 0 <= b.max && dtype.is_int()) {
    Bound neg = b.min < 0 ? make_bound(b.min, -1) : bound_of_type(dtype);
    Bound pos = b.max > 0 ? make_bound(1, b.max) : bound_of_type(dtype);
    return unite(corners(a, neg, f), corners(a, pos, f));
  }
  if (b.min == 0) { b.min = 1; }
  return corners(a, b, f);
}

// Divisors of correct programs are not zero.
// The bound of a result that may wrap around: unchanged if it fits the type, else that of the type.
auto settle(Bound b, DataType dtype) -> Bound {
  if (!wraps(dtype)) { return b; }
  Bound all = bound_of_type(dtype);
  return b.min < all.min || b.max > all.max ? all : b;
}

auto as_divisor(Bound b) -> Bound {
  if (b.min == 0 && b.max >= 1) { b.min = 1; }
  return b;
}

class Bounds {
 public:
  explicit Bounds(Analyzer::State& state) : state_(state) {}

  auto visit(const Expr& e) -> Bound {
    if (--state_.work < 0) { return bound_of_type(e.dtype()); }
    Bound result = visit_kind(e);
    for (const auto& [expr, bound] : state_.scoped_bounds) {
      if (expr.kind() == e.kind() && deep_equal(state_, expr, e)) { result = meet(result, bound); }
    }
    // An infinite end must be on its own side: a minimum is not plus infinity, a maximum not minus infinity.
    return make_bound(result.min, result.max);
  }

 private:
  auto visit_kind(const Expr& e) -> Bound {
    DataType dtype = e.dtype();
    if (depth_ > Analyzer::State::max_depth) { return bound_of_type(dtype); }
    struct Depth { int& d; explicit Depth(int& x) : d(x) { ++d; } ~Depth() { --d; } } depth(depth_);
    switch (e.kind()) {
      case NodeKind::IntImm: {
        int64_t v = e.as<IntImm>()->value;
        if (v < 0 && dtype.is_uint()) { return bound_of_type(dtype); }   // uint64 beyond int64
        return make_bound(std::max(v, neg_inf), std::max(v, neg_inf));
      }
      case NodeKind::VarNode: {
        const VarFacts* facts = state_.find(e.as<VarNode>());
        return facts && facts->bound ? *facts->bound : bound_of_type(dtype);
      }
      case NodeKind::Add: {
        const auto* n = e.as<Add>();
        Bound a = visit(n->a), b = visit(n->b);
        return settle({inf_add(a.min, b.min), inf_add(a.max, b.max)}, dtype);
      }
      case NodeKind::Sub: {
        const auto* n = e.as<Sub>();
        Bound a = visit(n->a), b = visit(n->b);
        return settle({inf_add(a.min, negate(b.max)), inf_add(a.max, negate(b.min))}, dtype);
      }
      case NodeKind::Mul: return settle(corners(visit(e.as<Mul>()->a), visit(e.as<Mul>()->b), inf_mul), dtype);
      case NodeKind::Div: {
        const auto* n = e.as<Div>();
        if (!dtype.is_integral()) { return {}; }
        Bound a = visit(n->a), b = as_divisor(visit(n->b));
        if (b.min == 0 && b.max == 0) { return bound_of_type(dtype); }
        return settle(divide(a, b, dtype, inf_div), dtype);
      }
      case NodeKind::FloorDiv: {
        const auto* n = e.as<FloorDiv>();
        if (!dtype.is_integral()) { return {}; }
        Bound a = visit(n->a), b = as_divisor(visit(n->b));
        if (b.min == 0 && b.max == 0) { return bound_of_type(dtype); }
        return settle(divide(a, b, dtype, inf_floordiv), dtype);
      }
      case NodeKind::Mod: {
        const auto* n = e.as<Mod>();
        Bound a = visit(n->a), b = as_divisor(visit(n->b));
        if (b.min <= 0) { return bound_of_type(dtype); }
        int64_t cap = inf_add(b.max, -1);
        if (a.min >= 0) { return a.max < b.min ? a : make_bound(0, std::min(a.max, cap)); }
        return make_bound(std::max(a.min, -cap), std::min(std::max<int64_t>(a.max, 0), cap));
      }
      case NodeKind::FloorMod: {
        const auto* n = e.as<FloorMod>();
        Bound a = visit(n->a), b = as_divisor(visit(n->b));
        int64_t cap = inf_add(b.max, -1);
        if (b.min > 0) {
          if (a.min >= 0) { return a.max < b.min ? a : make_bound(0, std::min(a.max, cap)); }
          return make_bound(0, cap);
        }
        return meet(make_bound(std::min<int64_t>(0, inf_add(b.min, 1)), std::max<int64_t>(0, cap)), bound_of_type(dtype));
      }
      case NodeKind::Min: {
        Bound a = visit(e.as<Min>()->a), b = visit(e.as<Min>()->b);
        return {std::min(a.min, b.min), std::min(a.max, b.max)};
      }
      case NodeKind::Max: {
        Bound a = visit(e.as<Max>()->a), b = visit(e.as<Max>()->b);
        return {std::max(a.min, b.min), std::max(a.max, b.max)};
      }
      case NodeKind::Select: return unite(visit(e.as<Select>()->true_value), visit(e.as<Select>()->false_value));
      case NodeKind::Cast: {
        Bound all = bound_of_type(dtype), value = cast_operand(*e.as<Cast>());
        if (wraps(dtype)) { return settle(value, dtype); }
        value = meet(value, all);
        return value.min > value.max ? all : value;
      }
      case NodeKind::Broadcast: return visit(e.as<Broadcast>()->value);
      case NodeKind::Ramp: {
        const auto* n = e.as<Ramp>();
        return unite(visit(n->base), visit(n->base + cast(n->base.dtype(), n->lanes - one(n->lanes.dtype())) * n->stride));
      }
      case NodeKind::Let: {
        const auto* n = e.as<Let>();
        const VarFacts* known = state_.find(n->var.get());
        if (known && known->bound) { return visit(n->body); }
        Bound value = visit(n->value);
        state_.facts(n->var).bound = value;
        Bound body = visit(n->body);
        state_.facts(n->var).bound.reset();
        return body;
      }
      case NodeKind::Call: return call(*e.as<Call>());
      case NodeKind::FloatImm: case NodeKind::StringImm: case NodeKind::EQ: case NodeKind::NE: case NodeKind::LT:
      case NodeKind::LE: case NodeKind::GT: case NodeKind::GE: case NodeKind::And: case NodeKind::Or: case NodeKind::Not:
      case NodeKind::BufferLoad: case NodeKind::Shuffle: case NodeKind::Reduce:
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
        return bound_of_type(dtype);
    }
    return bound_of_type(dtype);
  }

  // int(ceil(log2(n))) occurs in extents that are padded to powers of two.
  auto cast_operand(const Cast& cast) -> Bound {
    const auto* ceil = cast.dtype.is_int() ? cast.value.as<Call>() : nullptr;
    const auto* log2 = ceil && ceil->op == "ceil" && ceil->args.size() == 1 ? ceil->args[0].as<Call>() : nullptr;
    if (!log2 || log2->op != "log2" || log2->args.size() != 1) { return visit(cast.value); }
    auto ceil_log2 = [](double x) { return x > 0 ? static_cast<int64_t>(std::ceil(std::log2(x))) : neg_inf; };
    if (const auto* imm = log2->args[0].as<FloatImm>()) { return make_bound(ceil_log2(imm->value), ceil_log2(imm->value)); }
    Bound arg = visit(log2->args[0]);
    return make_bound(ceil_log2(static_cast<double>(arg.min)), arg.max == pos_inf ? pos_inf : ceil_log2(static_cast<double>(arg.max)));
  }

  auto call(const Call& call) -> Bound {
    if (call.args.size() != 2 || !call.dtype.is_integral()) { return bound_of_type(call.dtype); }
    if (call.op == "shift_right") { return corners(visit(call.args[0]), visit(call.args[1]), inf_shift_right); }
    if (call.op == "shift_left") {
      Bound a = visit(call.args[0]), b = visit(call.args[1]);
      return a.min < 0 || b.min < 0 ? bound_of_type(call.dtype) : settle(corners(a, b, inf_shift_left), call.dtype);
    }
    if (call.op == "bitwise_and") {
      Bound a = visit(call.args[0]), b = visit(call.args[1]);
      if (a.min >= 0 && b.min >= 0) { return make_bound(0, std::min(a.max, b.max)); }
      if (b.min >= 0) { return make_bound(0, b.max); }
      if (a.min >= 0) { return make_bound(0, a.max); }
    }
    return bound_of_type(call.dtype);
  }

  Analyzer::State& state_;
  int depth_ = 0;
};

}  // namespace

auto bound_of_type(DataType dtype) -> ConstIntBound {
  if (!dtype.is_integral()) { return {}; }
  int value_bits = dtype.bits - (dtype.is_int() ? 1 : 0);
  int64_t max = value_bits >= 63 ? pos_inf : (int64_t{1} << value_bits) - 1;
  int64_t min = dtype.is_uint() ? 0 : value_bits >= 63 ? neg_inf : -(int64_t{1} << value_bits);
  return {min, max};
}

auto const_int_bound(Analyzer::State& state, const Expr& expr) -> ConstIntBound { return Bounds(state).visit(expr); }

void enter_bounds(Analyzer::State& state, const Expr& constraint) {
  auto add = [&](const Expr& expr, int64_t min, int64_t max) {
    if (expr.kind() != NodeKind::IntImm && !(expr.dtype().is_uint() && expr.dtype().bits == 64)) { state.scoped_bounds.emplace_back(expr, make_bound(min, max)); }
  };
  // (a OP c) and (c OP a) are bounds of a.
  auto constant_on = [](const Expr& e) -> const IntImm* { return e.as<IntImm>(); };
  for (const Expr& fact : facts_of(constraint, false)) {
    switch (fact.kind()) {
      case NodeKind::LE: {
        const auto* n = fact.as<LE>();
        if (const auto* c = constant_on(n->a)) { add(n->b, c->value, pos_inf); }
        else if (const auto* d = constant_on(n->b)) { add(n->a, neg_inf, d->value); }
        break;
      }
      case NodeKind::LT: {
        const auto* n = fact.as<LT>();
        if (const auto* c = constant_on(n->a)) { add(n->b, inf_add(c->value, 1), pos_inf); }
        else if (const auto* d = constant_on(n->b)) { add(n->a, neg_inf, inf_add(d->value, -1)); }
        break;
      }
      case NodeKind::GE: {
        const auto* n = fact.as<GE>();
        if (const auto* c = constant_on(n->b)) { add(n->a, c->value, pos_inf); }
        else if (const auto* d = constant_on(n->a)) { add(n->b, neg_inf, d->value); }
        break;
      }
      case NodeKind::GT: {
        const auto* n = fact.as<GT>();
        if (const auto* c = constant_on(n->b)) { add(n->a, inf_add(c->value, 1), pos_inf); }
        else if (const auto* d = constant_on(n->a)) { add(n->b, neg_inf, inf_add(d->value, -1)); }
        break;
      }
      case NodeKind::EQ: {
        const auto* n = fact.as<EQ>();
        if (const auto* c = constant_on(n->b)) { add(n->a, c->value, c->value); }
        else if (const auto* d = constant_on(n->a)) { add(n->b, d->value, d->value); }
        break;
      }
      default: break;
    }
  }
}

}  // namespace loopsmith::arith
