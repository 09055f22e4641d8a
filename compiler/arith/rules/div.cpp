// Rules of truncating division and its remainder. Most hold only for nonnegative operands.
#include "arith/rewrite.h"
#include "arith/rule.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

// True when it can be proved that no lane of the ramp with base b1 and stride c1 is negative.
auto has_no_negative_lane(Rewriter& rw, const Match& m) -> bool {
  if (!rw.prove_ge(m[slot::b1], 0)) { return false; }
  int64_t stride = m.integer(slot::c1);
  const auto* lanes = m[slot::lanes].as<IntImm>();
  return stride >= 0 || (lanes && rw.state().owner->can_prove_greater_equal(m[slot::b1], wrap_mul(wrap_sub(1, lanes->value), stride)));
}

// ramp / broadcast: a ramp of quotients if the divisor divides the stride, a single value if all lanes have the same quotient.
auto divide_ramp(Rewriter& rw, const Expr&, const Match& m) -> Expr {
  int64_t stride = m.integer(slot::c1), divisor = m.integer(slot::c2);
  if (divisor <= 0 || !has_no_negative_lane(rw, m)) { return {}; }
  if (trunc_mod(stride, divisor) == 0) {
    return make<Ramp>(div(m[slot::b1], m[slot::c2]), div(m[slot::c1], m[slot::c2]), m[slot::lanes]);
  }
  const auto* lanes = m[slot::lanes].as<IntImm>();
  if (!lanes) { return {}; }
  ModularSet base = modular_set(rw.state(), m[slot::b1]);
  int64_t first = floor_div(base.base, divisor);
  int64_t last = floor_div(wrap_add(base.base, wrap_mul(lanes->value - 1, stride)), divisor);
  if (trunc_mod(base.coeff, divisor) != 0 || first != last) { return {}; }
  return make<Broadcast>(div(m[slot::b1], m[slot::c2]), m[slot::lanes]);
}

auto divide_product(Rewriter&, const Expr&, const Match& m) -> Expr {
  int64_t c1 = m.integer(slot::c1), c2 = m.integer(slot::c2);
  if (c1 <= 0 || c2 <= 0) { return {}; }
  if (c1 % c2 == 0) { return m[slot::x] * div(m[slot::c1], m[slot::c2]); }
  if (c2 % c1 == 0) { return div(m[slot::x], div(m[slot::c2], m[slot::c1])); }
  return {};
}

auto remainder_of_ramp(Rewriter& rw, const Expr&, const Match& m) -> Expr {
  int64_t stride = m.integer(slot::c1), divisor = m.integer(slot::c2);
  if (divisor <= 0 || !has_no_negative_lane(rw, m)) { return {}; }
  if (trunc_mod(stride, divisor) == 0) { return make<Broadcast>(truncmod(m[slot::b1], m[slot::c2]), m[slot::lanes]); }
  ModularSet base = modular_set(rw.state(), m[slot::b1]);
  if (trunc_mod(base.coeff, divisor) != 0) { return {}; }
  Expr start = constant_int(m[slot::b1].dtype(), trunc_mod(base.base, divisor));
  Expr ramp = make<Ramp>(start, m[slot::c1], m[slot::lanes]);
  const auto* lanes = m[slot::lanes].as<IntImm>();
  bool together = lanes && floor_div(base.base, divisor) == floor_div(wrap_add(base.base, wrap_mul(lanes->value - 1, stride)), divisor);
  // The new base is below b1, so lanes of a decreasing ramp may become negative.
  if (!together && stride < 0) { return {}; }
  return together ? ramp : truncmod(ramp, make<Broadcast>(m[slot::c2], m[slot::lanes]));
}

auto remainder_by_modulus(Rewriter& rw, const Expr& whole, const Match& m) -> Expr {
  int64_t c1 = m.integer(slot::c1);
  if (c1 <= 0) { return {}; }
  ModularSet mod = modular_set(rw.state(), m[slot::x]);
  if (mod.coeff % c1 != 0 || !rw.prove_ge(m[slot::x], 0)) { return {}; }
  return constant_int(whole.dtype(), mod.base % c1);
}

}  // namespace

auto div_rules() -> const RuleSet& {
  static const char* const divides_both_positive = "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and ge0(x) and ge0(y)";
  static const RuleSet rules({
      {"truncdiv(broadcast(x, lanes), broadcast(y, lanes))", "broadcast(truncdiv(x, y), lanes)", "", Then::Done, On::Vector},
      {"truncdiv(ramp(b1, c1, lanes), broadcast(c2, lanes))", "", "", Then::Done, On::Vector, divide_ramp},

      {"truncdiv(truncdiv(x, c1), c2)", "truncdiv(x, c1 * c2)", "c1 > 0 and c2 > 0"},
      {"truncdiv(truncdiv(x, c1) + c2, c3)", "truncdiv(x + c1 * c2, c1 * c3)", "c1 > 0 and c2 >= 0 and c3 > 0 and ge0(x)"},
      {"truncdiv(x * c1, c2)", "", "", Then::Done, On::Index, divide_product},
      {"truncdiv(x, x)", "1"},
      {"truncdiv(x * c1, x) | truncdiv(c1 * x, x)", "c1"},

      {"truncdiv(x * c1 + y, c2)", "x * truncdiv(c1, c2) + truncdiv(y, c2)", divides_both_positive},
      {"truncdiv(min(x * c1, y), c2)", "min(x * truncdiv(c1, c2), truncdiv(y, c2))", divides_both_positive},
      {"truncdiv(max(x * c1, y), c2)", "max(x * truncdiv(c1, c2), truncdiv(y, c2))", divides_both_positive},
      {"truncdiv(y + x * c1, c2)", "truncdiv(y, c2) + x * truncdiv(c1, c2)", divides_both_positive},
      {"truncdiv(min(y, x * c1), c2)", "min(truncdiv(y, c2), x * truncdiv(c1, c2))", divides_both_positive},
      {"truncdiv(max(y, x * c1), c2)", "max(truncdiv(y, c2), x * truncdiv(c1, c2))", divides_both_positive},
      {"truncdiv(x * c1 + y + z, c2)", "x * truncdiv(c1, c2) + truncdiv(y + z, c2)",
       "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and ge0(x) and ge0(y + z)"},
      {"truncdiv(x * c1 - y + z, c2)", "x * truncdiv(c1, c2) + truncdiv(z - y, c2)",
       "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and ge0(x) and ge0(z - y)"},
      {"truncdiv(x * c1 + y - z, c2)", "x * truncdiv(c1, c2) + truncdiv(y - z, c2)",
       "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and ge0(x) and ge0(y - z)"},
      {"truncdiv(y + x * c1 + z, c2)", "x * truncdiv(c1, c2) + truncdiv(y + z, c2)",
       "c1 > 0 and c2 > 0 and c1 % c2 == 0 and ge0(x) and ge0(y + z)"},
      {"truncdiv(x + c1, c2)", "truncdiv(x, c2) + truncdiv(c1, c2)", "c1 > 0 and c2 > 0 and c1 % c2 == 0 and ge0(x)"},
      {"truncdiv(x + y, x) | truncdiv(y + x, x)", "truncdiv(y, x) + 1", "ge0(x) and ge0(y)"},
      {"truncdiv((x + y) + z, x) | truncdiv((y + x) + z, x) | truncdiv(y + (z + x), x) | truncdiv(y + (x + z), x)",
       "truncdiv(y + z, x) + 1", "ge0(x) and ge0(y + z)"},
      {"truncdiv(x * y, y) | truncdiv(y * x, y)", "x", "ge0(x) and ge0(y)"},
      {"truncdiv(x * z + y, z) | truncdiv(z * x + y, z)", "x + truncdiv(y, z)", "ge0(x) and ge0(y) and ge0(z)"},
      {"truncdiv(y + x * z, z) | truncdiv(y + z * x, z)", "truncdiv(y, z) + x", "ge0(x) and ge0(y) and ge0(z)"},
  });
  return rules;
}

auto mod_rules() -> const RuleSet& {
  static const RuleSet rules({
      {"truncmod(broadcast(x, lanes), broadcast(y, lanes))", "broadcast(truncmod(x, y), lanes)", "", Then::Done, On::Vector},
      {"truncmod(ramp(b1, c1, lanes), broadcast(c2, lanes))", "", "", Then::Done, On::Vector, remainder_of_ramp},

      {"truncmod(x * c1, c2)", "0", "c2 != 0 and c1 % c2 == 0"},
      {"truncmod(x * c1 + y, c2)", "truncmod(y, c2)", "c2 > 0 and c1 % c2 == 0 and ge0(x * c1) and ge0(y)"},
      {"truncmod(x + c1, c2)", "truncmod(x, c2)", "c2 > 0 and c1 >= 0 and c1 % c2 == 0 and ge0(x)"},
      {"truncmod(x + y * c1, c2)", "truncmod(x, c2)", "c2 > 0 and c1 % c2 == 0 and ge0(x) and ge0(y * c1)"},
      {"truncmod(x, c1)", "truncmod(x, 0 - c1)", "c1 < 0", Then::Again},
      {"truncmod(x, c1)", "", "", Then::Done, On::Index, remainder_by_modulus},
  });
  return rules;
}

}  // namespace loopsmith::arith
