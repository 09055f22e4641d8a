// Rules of floor division and its remainder. They hold for operands of either sign. Divisors are positive unless a rule
// states otherwise, because a negative divisor reverses the rounding.
#include "arith/rewrite.h"
#include "arith/rule.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

auto divide_ramp(Rewriter& rw, const Expr&, const Match& m) -> Expr {
  int64_t stride = m.integer(slot::c1), divisor = m.integer(slot::c2);
  if (divisor == 0) { return {}; }
  if (trunc_mod(stride, divisor) == 0) {
    return make<Ramp>(floordiv(m[slot::b1], m[slot::c2]), floordiv(m[slot::c1], m[slot::c2]), m[slot::lanes]);
  }
  const auto* lanes = m[slot::lanes].as<IntImm>();
  if (!lanes || divisor < 0) { return {}; }
  ModularSet base = modular_set(rw.state(), m[slot::b1]);
  int64_t last = base.base + (lanes->value - 1) * stride;
  if (floor_div(base.base, divisor) != floor_div(last, divisor)) { return {}; }
  bool aligned = trunc_mod(base.coeff, divisor) == 0;
  bool inside = base.coeff != 0 && trunc_mod(divisor, base.coeff) == 0 && last < base.coeff;
  if (!aligned && !inside) { return {}; }
  return make<Broadcast>(floordiv(m[slot::b1], m[slot::c2]), m[slot::lanes]);
}

auto remainder_of_ramp(Rewriter& rw, const Expr&, const Match& m) -> Expr {
  int64_t stride = m.integer(slot::c1), divisor = m.integer(slot::c2);
  if (divisor == 0) { return {}; }
  if (trunc_mod(stride, divisor) == 0) { return make<Broadcast>(floormod(m[slot::b1], m[slot::c2]), m[slot::lanes]); }
  ModularSet base = modular_set(rw.state(), m[slot::b1]);
  const auto* lanes = m[slot::lanes].as<IntImm>();
  bool aligned = trunc_mod(base.coeff, divisor) == 0;
  if (divisor < 0) { return {}; }
  Expr start = constant_int(m[slot::b1].dtype(), floor_mod(base.base, divisor));
  if (lanes) {
    int64_t last = base.base + (lanes->value - 1) * stride;
    if (floor_div(base.base, divisor) == floor_div(last, divisor)) {
      if (aligned) { return make<Ramp>(start, m[slot::c1], m[slot::lanes]); }
      if (base.coeff != 0 && trunc_mod(divisor, base.coeff) == 0 && last < base.coeff) {
        return make<Ramp>(floormod(m[slot::b1], m[slot::c2]), m[slot::c1], m[slot::lanes]);
      }
    }
  }
  if (!aligned) { return {}; }
  return floormod(make<Ramp>(start, m[slot::c1], m[slot::lanes]), make<Broadcast>(m[slot::c2], m[slot::lanes]));
}

// (x * c1 + y) // c2, where y may be absent. Either the remaining quotient is constant, or c1 divides c2 and y lies
// within one step of c1:
//     x = a * x' + b, c2 = a * c1, y = d * c2 + e   ==>   x' + d + (b * c1 + e) // c2 = x' + d, as 0 <= e < c1
auto divide_linear(Rewriter& rw, const Expr& whole, const Match& m) -> Expr {
  int64_t c1 = m.integer(slot::c1), c2 = m.integer(slot::c2);
  if (c2 == 0) { return whole; }
  DataType dtype = whole.dtype();
  const Expr& x = m[slot::x];
  Expr y = m.has(slot::y) ? m[slot::y] : zero(dtype);
  Expr divisor = constant_int(dtype, c2);
  const auto* constant = y.as<IntImm>();
  if (constant && !fold_is_exact(NodeKind::FloorDiv, dtype, constant->value, c2)) { return {}; }
  Expr residue = floordiv(x * constant_int(dtype, floor_mod(c1, c2)) + floormod(y, divisor), divisor);
  Expr quotient = floordiv(y, divisor);
  if (rw.prove_equal(quotient, 0)) { quotient = zero(dtype); }
  ConstIntBound bound = const_int_bound(rw.state(), residue);
  if (bound.min == bound.max) { return x * constant_int(dtype, floor_div(c1, c2)) + (quotient + constant_int(dtype, bound.max)); }
  if (c1 > 0 && c2 > 0 && c2 % c1 == 0 && rw.state().owner->can_prove_less(floormod(y, divisor), c1)) {
    return floordiv(x, constant_int(dtype, c2 / c1)) + quotient;
  }
  return {};
}

// The remainder is known by divisibility, or x is smaller than the divisor.
auto remainder_by_facts(Rewriter& rw, const Expr& whole, const Match& m) -> Expr {
  int64_t c1 = m.integer(slot::c1);
  if (c1 <= 0) { return {}; }
  ModularSet mod = modular_set(rw.state(), m[slot::x]);
  if (mod.coeff % c1 == 0) { return constant_int(whole.dtype(), floor_mod(mod.base, c1)); }
  ConstIntBound bound = const_int_bound(rw.state(), m[slot::x]);
  if (bound.min >= 0 && bound.max < c1) { return m[slot::x]; }
  return {};
}

}  // namespace

auto floordiv_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"broadcast(x, lanes) // broadcast(y, lanes)", "broadcast(x // y, lanes)", "", Then::Done, On::Vector},
      {"ramp(b1, c1, lanes) // broadcast(c2, lanes)", "", "", Then::Done, On::Vector, divide_ramp},

      {"x // c1 // c2", "x // (c1 * c2)", "c1 > 0 and c2 > 0"},
      {"(x // c1 + c2) // c3", "(x + c1 * c2) // (c1 * c3)", "c1 > 0 and c3 > 0"},
      {"(x * c1 + y) // c2 | (x * c1) // c2 | (y + x * c1) // c2", "", "", Then::Done, On::Index, divide_linear},
      {"x // x", "1"},
      {"(x * c1) // x | (c1 * x) // x", "c1"},
      {"(x % 2 + 1) // 2", "x % 2"},

      {"min(x * c1, y) // c2", "min(x * (c1 // c2), y // c2)", "c2 > 0 and c1 % c2 == 0"},
      {"max(x * c1, y) // c2", "max(x * (c1 // c2), y // c2)", "c2 > 0 and c1 % c2 == 0"},
      {"min(y, x * c1) // c2", "min(y // c2, x * (c1 // c2))", "c2 > 0 and c1 % c2 == 0"},
      {"max(y, x * c1) // c2", "max(y // c2, x * (c1 // c2))", "c2 > 0 and c1 % c2 == 0"},
      {"(x * c1 + y + z) // c2", "x * (c1 // c2) + (y + z) // c2", "c2 > 0 and c1 % c2 == 0"},
      {"(x * c1 + y + z) // c2", "x // (c2 // c1)", "c1 > 0 and c2 > 0 and c2 % c1 == 0 and eq0((y + z) // c1)"},
      {"(x * c1 - y + z) // c2 | (x * c1 + z - y) // c2", "x * (c1 // c2) + (z - y) // c2", "c2 > 0 and c1 % c2 == 0"},
      {"(y + x * c1 + z) // c2", "x * (c1 // c2) + (y + z) // c2", "c2 > 0 and c1 % c2 == 0"},
      {"(x + c1) // c2", "x // c2 + c1 // c2", "c2 > 0 and c1 % c2 == 0"},
      {"(x * c1) // (x * c2)", "c1 // c2", "c2 > 0"},
      {"(x + y) // x | (y + x) // x", "y // x + 1", "ge0(x)"},
      {"((x + y) + z) // x | ((y + x) + z) // x | (y + (z + x)) // x | (y + (x + z)) // x", "(y + z) // x + 1", "ge0(x)"},
      {"(x * y) // y | (y * x) // y", "x", "ge0(y)"},
      {"(x * z + y) // z | (z * x + y) // z", "x + y // z", "ge0(z)"},
      {"(y + x * z) // z | (y + z * x) // z", "y // z + x", "ge0(z)"},
      {"(x * z * c1 + y) // (z * c1)", "x + y // (z * c1)", "ge0(z * c1)"},
      {"(x - x % c1) // c1", "x // c1", "c1 != 0"},
  });
  return rules;
}

auto floormod_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"broadcast(x, lanes) % broadcast(y, lanes)", "broadcast(x % y, lanes)", "", Then::Done, On::Vector},
      {"ramp(b1, c1, lanes) % broadcast(c2, lanes)", "", "", Then::Done, On::Vector, remainder_of_ramp},

      {"(x * c1) % c2", "(x * (c1 % c2)) % c2", "c2 != 0"},
      {"(x * c1 + y) % c2", "x % (c2 // c1) * c1 + y", "c1 > 0 and c2 > 0 and c2 % c1 == 0 and eq0(y // c1)"},
      {"(x * c1 + y) % c2", "(x * (c1 % c2) + y) % c2", "c2 > 0"},
      {"(x + c1) % c2", "(x + c1 % c2) % c2", "c2 > 0 and (c1 >= c2 or c1 < 0)"},
      {"(x + y * c1) % c2", "(x + y * (c1 % c2)) % c2", "c2 > 0"},
      {"(x * c1) % (x * c2)", "x * (c1 % c2)", "c2 != 0"},
      {"(x * y) % y | (y * x) % y", "0"},
      // x = a y + b: adding the missing remainder gives a multiple.
      {"(x + z % y) % y | (z % y + x) % y", "0", "eq0((x + z) % y)"},
      {"(x - x % z) % y | (x % z - x) % y", "0", "eq0(y - z) or eq0(y + z)"},
      {"(x * z * c1 + y) % (z * c1)", "y % (z * c1)", "ge0(z * c1)"},
      {"x % c1", "", "", Then::Done, On::Index, remainder_by_facts},
  });
  return rules;
}

}  // namespace loopsmith::arith
