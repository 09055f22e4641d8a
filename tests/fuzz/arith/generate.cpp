// Random expressions: see generate.h.
#include "generate.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "arith/rule.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::fuzz {

namespace {

// The smallest and the largest value that constants can hold.
auto ends_of(DataType t) -> std::pair<int64_t, int64_t> {
  if (t.is_uint()) { return {0, t.bits >= 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << t.bits) - 1}; }
  int64_t most = t.bits >= 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (t.bits - 1)) - 1;
  return {-most - 1, most};
}

}  // namespace

auto random_domains(Random& random, DataType dtype, int count, int64_t limit, bool at_ends) -> std::vector<Domain> {
  static constexpr std::array<const char*, 4> names = {"x", "y", "z", "w"};
  std::vector<Domain> out;
  int64_t points = 1;
  for (int i = 0; i < count; ++i) {
    int64_t extent = std::min<int64_t>(random.chance(8) ? 1 : random.between(2, 13), std::max<int64_t>(limit / points, 1));
    int64_t low = random.chance(3) && dtype.is_int() ? random.between(-14, 9) : random.chance(6) ? random.between(1, 5) : 0;
    points *= extent;
    if (at_ends && random.chance(2)) {
      auto [least, most] = ends_of(dtype);
      low = random.chance(2) ? least + random.between(0, 3) : most - extent - random.between(0, 3);
    }
    out.push_back({var(names[static_cast<size_t>(i)], dtype), low, low + extent});
  }
  return out;
}

auto Generator::constant() -> Expr {
  if (at_ends_ && random_.chance(2)) {
    auto [least, most] = ends_of(dtype_);
    switch (random_.pick(4)) {
      case 0: return int_imm(least + random_.between(0, 4), dtype_);
      case 1: return int_imm(most - random_.between(0, 4), dtype_);
      case 2: return int_imm(most / 2 + random_.between(-2, 2), dtype_);
      default: return int_imm(std::clamp((int64_t{1} << 31) + random_.between(-3, 3), least, most), dtype_);
    }
  }
  if (random_.chance(5)) { return int_imm(random_.between(dtype_.is_int() ? -40 : 0, 40), dtype_); }
  if (random_.chance(6)) { return int_imm(int64_t{1} << random_.pick(6), dtype_); }
  return int_imm(random_.between(random_.chance(4) && dtype_.is_int() ? -3 : 0, 9), dtype_);
}
auto Generator::nonzero() -> Expr {
  if (at_ends_ && random_.chance(4)) {
    auto [least, most] = ends_of(dtype_);
    return int_imm(random_.chance(2) && least < 0 ? least + random_.between(0, 2) : most - random_.between(0, 2), dtype_);
  }
  int64_t value = random_.chance(4) ? random_.between(2, 24) : random_.between(1, 8);
  return int_imm(random_.chance(10) && dtype_.is_int() ? -value : value, dtype_);
}
auto Generator::variable() -> Expr { return domains_[static_cast<size_t>(random_.pick(static_cast<int>(domains_.size())))].var; }

auto Generator::integer(int depth) -> Expr {
  if (depth <= 0 || random_.chance(7)) { return random_.chance(4) ? constant() : variable(); }
  Expr a = integer(depth - 1);
  auto other = [&] { return random_.chance(3) ? constant() : integer(depth - 1); };
  auto divisor = [&]() -> Expr {
    if (!random_.chance(12)) { return nonzero(); }
    Expr v = variable();
    return random_.chance(2) ? v : Expr(make<Add>(v, nonzero()));
  };
  switch (random_.pick(26)) {
    case 0: case 1: case 2: case 3: return make<Add>(a, other());
    case 4: case 5: return make<Sub>(a, other());
    case 6: case 7: case 8: return make<Mul>(a, nonzero());
    case 9: return random_.chance(2) ? make<Mul>(nonzero(), a) : make<Mul>(a, integer(depth - 2));
    case 10: case 11: case 12: return make<FloorDiv>(a, divisor());
    case 13: case 14: case 15: return make<FloorMod>(a, divisor());
    case 16: return make<Div>(a, divisor());
    case 17: return make<Mod>(a, divisor());
    case 18: case 19: return make<Min>(a, other());
    case 20: case 21: return make<Max>(a, other());
    case 22: return make<Select>(condition(depth - 2), a, other());
    case 23: return make<Call>(dtype_, Name("if_then_else"), Array<Expr>{condition(depth - 2), a, other()});
    case 24: {
      static constexpr std::array<const char*, 5> ops = {"shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor"};
      int op = random_.pick(5);
      Expr b = op < 2 ? int_imm(random_.pick(5), dtype_) : random_.chance(2) ? int_imm((int64_t{1} << random_.pick(5)) - 1, dtype_) : other();
      return make<Call>(dtype_, Name(ops[static_cast<size_t>(op)]), Array<Expr>{a, b});
    }
    default: {
      if (random_.chance(3)) {
        Var bound = var("let", dtype_);
        Expr value = integer(depth - 2);
        Expr use = random_.chance(2) ? Expr(make<Add>(bound, variable())) : Expr(make<FloorMod>(bound, nonzero()));
        return make<Let>(bound, value, random_.chance(2) ? use : Expr(make<Max>(use, a)));
      }
      DataType other_type = dtype_.bits == 64 ? dtype_.with_bits(32) : dtype_.with_bits(64);
      return make<Cast>(dtype_, Expr(make<Cast>(other_type, a)));
    }
  }
}

auto Generator::condition(int depth) -> Expr {
  if (depth > 1 && random_.chance(3)) {
    Expr a = condition(depth - 1);
    switch (random_.pick(5)) {
      case 0: case 1: return make<And>(a, condition(depth - 1));
      case 2: case 3: return make<Or>(a, condition(depth - 1));
      default: return make<Not>(a);
    }
  }
  Expr a = integer(depth), b = random_.chance(2) ? constant() : integer(depth - 1);
  if (random_.chance(4)) { std::swap(a, b); }
  switch (random_.pick(8)) {
    case 0: case 1: return make<EQ>(a, b);
    case 2: return make<NE>(a, b);
    case 3: case 4: return make<LT>(a, b);
    case 5: return make<LE>(a, b);
    case 6: return make<GT>(a, b);
    default: return make<GE>(a, b);
  }
}

auto Generator::vector(int depth, int lanes) -> Expr {
  Expr count = int_imm(lanes);
  if (depth <= 0 || random_.chance(4)) {
    Expr base = random_.chance(2) ? Expr(make<Mul>(variable(), int_imm(random_.between(1, 8), dtype_))) : integer(1);
    if (random_.chance(2)) { return make<Broadcast>(random_.chance(2) ? nonzero() : base, count); }
    return make<Ramp>(base, random_.chance(4) ? variable() : int_imm(random_.between(-3, 6), dtype_), count);
  }
  Expr a = vector(depth - 1, lanes);
  Expr divisor = make<Broadcast>(nonzero(), count);
  switch (random_.pick(11)) {
    case 0: case 1: return make<Add>(a, vector(depth - 1, lanes));
    case 2: return make<Sub>(a, vector(depth - 1, lanes));
    case 3: return make<Mul>(a, random_.chance(3) ? vector(depth - 1, lanes) : divisor);
    case 4: case 5: return make<FloorDiv>(a, divisor);
    case 6: case 7: return make<FloorMod>(a, divisor);
    case 8: return random_.chance(2) ? Expr(make<Div>(a, divisor)) : Expr(make<Mod>(a, divisor));
    case 9: return random_.chance(2) ? Expr(make<Min>(a, vector(depth - 1, lanes))) : Expr(make<Max>(a, vector(depth - 1, lanes)));
    default: {
      Expr b = vector(depth - 1, lanes);
      return make<Select>(random_.chance(2) ? Expr(make<LT>(a, b)) : Expr(make<EQ>(a, b)), a, b);
    }
  }
}

namespace {

auto is_well_typed(const Expr& e) -> bool {
  bool ok = true;
  post_order(e, [&](const Expr& n) {
    switch (n.kind()) {
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      {
        const auto& b = *static_cast<const BinaryNode*>(n.get());
        bool logical = n.kind() == NodeKind::And || n.kind() == NodeKind::Or;
        ok = ok && b.a.dtype() == b.b.dtype() && b.a.dtype().is_bool() == logical;
        break;
      }
      case NodeKind::Not: ok = ok && n.as<Not>()->a.dtype().is_bool(); break;
      case NodeKind::Cast: ok = ok && !n.as<Cast>()->value.dtype().is_bool() && !n.dtype().is_bool(); break;
      case NodeKind::Select: {
        const auto* s = n.as<Select>();
        ok = ok && s->condition.dtype().is_bool() && s->true_value.dtype() == s->false_value.dtype();
        break;
      }
      default: break;
    }
  });
  return ok;
}

}  // namespace

auto Generator::rule_instance() -> Expr {
  using namespace arith;
  static const std::vector<std::pair<const RuleSet*, bool>> sets = {
      {&add_rules(), false}, {&sub_rules(), false}, {&mul_rules(), false}, {&div_rules(), false}, {&mod_rules(), false},
      {&floordiv_rules(), false}, {&floormod_rules(), false}, {&min_rules(), false}, {&max_rules(), false},
      {&eq_rules(), true}, {&lt_rules(), true}, {&not_rules(), true}, {&and_rules(), true}, {&or_rules(), true}};
  size_t total = 0;
  for (const auto& [set, _] : sets) { total += set->count(); }
  for (int attempt = 0; attempt < 8; ++attempt) {
    auto index = static_cast<size_t>(random_.pick(static_cast<int>(total)));
    size_t which = 0;
    while (index >= sets[which].first->count()) { index -= sets[which++].first->count(); }
    std::vector<Expr> held;
    held.reserve(slot::count);
    Match match;
    for (uint8_t name : {slot::x, slot::y, slot::z, slot::b1, slot::b2, slot::s1, slot::s2}) {
      int depth = random_.chance(2) ? 0 : random_.pick(2) + 1;
      held.push_back(random_.chance(5) ? condition(1) : integer(depth));
      match.at[name] = &held.back();
    }
    // Related constants, which the conditions of many rules need.
    auto value = [&](const Expr& e) { return e.as<IntImm>()->value; };
    held.push_back(random_.chance(3) ? constant() : nonzero());
    match.at[slot::c1] = &held.back();
    int64_t c1 = value(held.back());
    auto related = [&]() -> Expr {
      switch (random_.pick(7)) {
        case 0: return int_imm(wrap_sub(0, c1), dtype_);
        case 1: return int_imm(wrap_mul(c1, random_.between(1, 4)), dtype_);
        case 2: return int_imm(wrap_add(c1, random_.between(-1, 1)), dtype_);
        case 3: return int_imm(c1 % 2 == 0 ? c1 / 2 : c1 % 3 == 0 ? c1 / 3 : c1, dtype_);
        default: return random_.chance(3) ? constant() : nonzero();
      }
    };
    held.push_back(related());
    match.at[slot::c2] = &held.back();
    int64_t c2 = value(held.back());
    held.push_back(random_.chance(4) ? int_imm(wrap_mul(c1, c2), dtype_) : related());
    match.at[slot::c3] = &held.back();
    Expr lanes = int_imm(4), real = float_imm(1.5);
    match.at[slot::lanes] = &lanes;
    match.at[slot::f] = &real;
    Expr e = sets[which].first->example(index, match, sets[which].second ? DataType::bool_() : dtype_);
    if (e && is_well_typed(e)) { return e; }
  }
  return {};
}

}  // namespace loopsmith::fuzz
