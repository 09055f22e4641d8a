// Modular sets: coeff * k + base, propagated through integer arithmetic.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "arith/state.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

auto entry(int64_t coeff, int64_t base) -> ModularSet {
  if (coeff == std::numeric_limits<int64_t>::min()) { return {1, 0}; }   // it has no negation
  if (coeff < 0) { coeff = wrap_sub(0, coeff); base = wrap_sub(0, base); }
  if (coeff > 0) { base = floor_mod(base, coeff); }
  return {coeff, base};
}
constexpr ModularSet everything{1, 0};

// For a base that may exceed int64: a constant wraps around in `dtype`; other sets become unknown.
auto wide_entry(int64_t coeff, __int128 base, DataType dtype) -> ModularSet {
  if (coeff != 0) { base %= coeff; }
  if (base != static_cast<int64_t>(base) && !wraps(dtype)) { return everything; }
  return entry(coeff, static_cast<int64_t>(base));
}
auto product(int64_t a, int64_t b, bool& fits) -> int64_t {
  int64_t out;
  fits = !__builtin_mul_overflow(a, b, &out) && fits;
  return out;
}

auto unite(ModularSet a, ModularSet b) -> ModularSet {
  int64_t coeff = gcd_of(a.coeff, b.coeff);
  if (coeff == 0) {
    if (a.base == b.base) { return a; }
    return everything;
  }
  int64_t base0 = trunc_mod(a.base, coeff), base1 = trunc_mod(b.base, coeff);
  if (base0 == base1) { return entry(coeff, base0); }
  return entry(gcd_of(gcd_of(base0, base1), coeff), base0);
}

// gcd, and x, y with a * x + b * y == gcd.
auto extended_gcd(int64_t a, int64_t b, int64_t& x, int64_t& y) -> int64_t {
  int64_t s = 0, old_s = 1, r = b, old_r = a >= 0 ? a : -a;
  while (r != 0) {
    int64_t q = old_r / r;
    std::swap(r, old_r);
    r = wrap_sub(r, wrap_mul(q, old_r));
    std::swap(s, old_s);
    s = wrap_sub(s, wrap_mul(q, old_s));
  }
  x = a >= 0 ? old_s : -old_s;
  y = b != 0 ? trunc_div(wrap_sub(old_r, wrap_mul(a, x)), b) : 1;
  return old_r;
}

auto meet(ModularSet a, ModularSet b) -> ModularSet {
  int64_t x, y;
  int64_t gcd = extended_gcd(a.coeff, b.coeff, x, y);
  int64_t v = wrap_sub(b.base, a.base);
  if (gcd == 0 || trunc_mod(v, gcd) != 0) { return a.coeff == 0 ? a : ModularSet{0, 1}; }
  x = wrap_mul(trunc_div(v, gcd), x);
  return entry(wrap_mul(a.coeff / gcd, b.coeff), wrap_add(wrap_mul(x, a.coeff), a.base));
}

// The set after values wrap around at 2^bits: only the power of two in the coefficient remains.
auto settle(ModularSet m, DataType dtype) -> ModularSet {
  if (!wraps(dtype)) { return m; }
  if (m.coeff == 0 && m.base < 0 && dtype.is_uint() && dtype.bits == 64) { return everything; }   // beyond int64
  if (m.coeff == 0) { return {0, int_imm(m.base, dtype.element()).as<IntImm>()->value}; }
  int64_t power = m.coeff & wrap_sub(0, m.coeff);
  if (dtype.bits < 63) { power = std::min(power, int64_t{1} << dtype.bits); }
  return entry(power, m.base);
}

class Moduli {
 public:
  explicit Moduli(Analyzer::State& state) : state_(state) {}

  auto visit(const Expr& e) -> ModularSet {
    if (--state_.work < 0 || depth_ > Analyzer::State::max_depth) { return everything; }
    struct Depth { int& d; explicit Depth(int& x) : d(x) { ++d; } ~Depth() { --d; } } depth(depth_);
    switch (e.kind()) {
      case NodeKind::IntImm: return settle({0, e.as<IntImm>()->value}, e.dtype());
      case NodeKind::VarNode: {
        const VarFacts* facts = state_.find(e.as<VarNode>());
        return facts && facts->modulus ? *facts->modulus : everything;
      }
      case NodeKind::Cast: return settle(visit(e.as<Cast>()->value), e.dtype());
      case NodeKind::Add: {
        ModularSet a = visit(e.as<Add>()->a), b = visit(e.as<Add>()->b);
        return settle(wide_entry(gcd_of(a.coeff, b.coeff), __int128(a.base) + b.base, e.dtype()), e.dtype());
      }
      case NodeKind::Sub: {
        ModularSet a = visit(e.as<Sub>()->a), b = visit(e.as<Sub>()->b);
        return settle(wide_entry(gcd_of(a.coeff, b.coeff), __int128(a.base) - b.base, e.dtype()), e.dtype());
      }
      case NodeKind::Mul: {
        // (p x + n)(q y + m) = pq xy + pm x + qn y + nm
        ModularSet a = visit(e.as<Mul>()->a), b = visit(e.as<Mul>()->b);
        bool fits = true;
        int64_t pq = product(a.coeff, b.coeff, fits), pm = product(a.coeff, b.base, fits), qn = product(a.base, b.coeff, fits);
        if (!fits && !wraps(e.dtype())) { return everything; }
        return settle(wide_entry(gcd_of(pq, gcd_of(pm, qn)), __int128(a.base) * b.base, e.dtype()), e.dtype());
      }
      case NodeKind::Div: return divide(e.as<Div>()->a, e.as<Div>()->b, false);
      case NodeKind::FloorDiv: return divide(e.as<FloorDiv>()->a, e.as<FloorDiv>()->b, true);
      case NodeKind::Mod: return remainder(e.as<Mod>()->a, e.as<Mod>()->b, false);
      case NodeKind::FloorMod: return remainder(e.as<FloorMod>()->a, e.as<FloorMod>()->b, true);
      case NodeKind::Min: return unite(visit(e.as<Min>()->a), visit(e.as<Min>()->b));
      case NodeKind::Max: return unite(visit(e.as<Max>()->a), visit(e.as<Max>()->b));
      case NodeKind::Select: return unite(visit(e.as<Select>()->true_value), visit(e.as<Select>()->false_value));
      case NodeKind::Let: {
        const auto* n = e.as<Let>();
        const VarFacts* known = state_.find(n->var.get());
        if (known && known->modulus) { return visit(n->body); }
        ModularSet value = visit(n->value);
        state_.facts(n->var).modulus = value;
        ModularSet body = visit(n->body);
        state_.facts(n->var).modulus.reset();
        return body;
      }
      case NodeKind::Call: {
        const auto* n = e.as<Call>();
        if (n->args.size() != 2) { return everything; }
        if (n->op == "shift_right") {
          ModularSet b = visit(n->args[1]);
          return b.coeff == 0 && b.base >= 0 && b.base < 63 ? divide_by(n->args[0], int64_t{1} << b.base, true) : everything;
        }
        if (n->op == "bitwise_and") {
          ModularSet b = visit(n->args[1]);
          bool mask = b.coeff == 0 && b.base > 0 && b.base < ConstIntBound::pos_inf && (b.base & (b.base + 1)) == 0;
          return mask ? remainder_by(n->args[0], b.base + 1, true) : everything;
        }
        return everything;
      }
      case NodeKind::FloatImm: case NodeKind::StringImm: case NodeKind::EQ: case NodeKind::NE: case NodeKind::LT:
      case NodeKind::LE: case NodeKind::GT: case NodeKind::GE: case NodeKind::And: case NodeKind::Or: case NodeKind::Not:
      case NodeKind::BufferLoad: case NodeKind::Ramp: case NodeKind::Broadcast: case NodeKind::Shuffle: case NodeKind::Reduce:
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
        return everything;
    }
    return everything;
  }

 private:
  auto divide(const Expr& a, const Expr& b, bool round_down) -> ModularSet {
    ModularSet divisor = visit(b);
    return divisor.coeff == 0 && divisor.base != 0 ? divide_by(a, divisor.base, round_down) : everything;
  }
  auto divide_by(const Expr& lhs, int64_t value, bool round_down) -> ModularSet {
    ModularSet a = visit(lhs);
    if (trunc_mod(a.coeff, value) != 0) { return everything; }
    if (a.base == 0) { return entry(std::abs(trunc_div(a.coeff, value)), 0); }
    // Valid only if rounding is known to be downwards.
    if (a.base > 0 && value > 0 && (round_down || state_.owner->can_prove_greater_equal(lhs, 0))) {
      return entry(a.coeff / value, a.base / value);
    }
    return everything;
  }
  auto remainder(const Expr& a, const Expr& b, bool round_down) -> ModularSet {
    ModularSet divisor = visit(b);
    return divisor.coeff == 0 && divisor.base != 0 ? remainder_by(a, divisor.base, round_down) : everything;
  }
  auto remainder_by(const Expr& lhs, int64_t value, bool round_down) -> ModularSet {
    ModularSet a = visit(lhs);
    int64_t coeff = gcd_of(a.coeff, value);
    if (coeff == 0) { return everything; }
    if (trunc_mod(a.base, coeff) == 0 || (a.base > 0 && (round_down || state_.owner->can_prove_greater_equal(lhs, 0)))) {
      return entry(coeff, trunc_mod(a.base, coeff));
    }
    return everything;
  }

  Analyzer::State& state_;
  int depth_ = 0;
};

}  // namespace

auto gcd_of(int64_t a, int64_t b) -> int64_t {
  uint64_t x = a < 0 ? -static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t y = b < 0 ? -static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (y != 0) { uint64_t r = x % y; x = y; y = r; }
  return static_cast<int64_t>(x);
}

auto modular_set(Analyzer::State& state, const Expr& expr) -> ModularSet { return Moduli(state).visit(expr); }

// Conditions of the form x % c == b, for a variable x.
void enter_moduli(Analyzer::State& state, const Expr& constraint) {
  const auto* eq = constraint.as<EQ>();
  const auto* base = eq ? eq->b.as<IntImm>() : nullptr;
  if (!base) { return; }
  const BinaryNode* rem = nullptr;
  if (eq->a.kind() == NodeKind::FloorMod || eq->a.kind() == NodeKind::Mod) { rem = static_cast<const BinaryNode*>(eq->a.get()); }
  const auto* variable = rem ? rem->a.as<VarNode>() : nullptr;
  const auto* coeff = rem ? rem->b.as<IntImm>() : nullptr;
  if (!variable || !coeff || coeff->value == 0) { return; }
  Var var{variable};
  VarFacts& facts = state.facts(var);
  state.replaced_moduli.emplace_back(var, facts.modulus);
  facts.modulus = meet(facts.modulus.value_or(everything), entry(coeff->value < 0 ? wrap_sub(0, coeff->value) : coeff->value, base->value));
}

}  // namespace loopsmith::arith
