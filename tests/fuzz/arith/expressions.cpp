// Single expressions: the results of simplifiers and analyses hold at every point. A failure is shrunk to the smallest
// sub-expression that fails.
#include <optional>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "checks.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"

namespace loopsmith::fuzz {
namespace {

auto text_of(const Expr& e) -> std::string { return print_debug(e, 100000); }

struct Setting {
  const Space* space;
  Expr constraint;            // or none
  uint8_t extensions;
  bool bound;                 // variables are bound to their domains
  bool at_ends = false;       // results are compared in unbounded integers, because ir/ir.h allows passes to regroup them
};

auto complaint(const Expr& e, const Setting& s) -> std::string {
  using namespace arith;
  Analyzer analyzer;
  analyzer.set_extensions(s.extensions);
  if (s.bound) {
    for (const Domain& d : s.space->domains()) { analyzer.bind(d.var, Range{int_imm(d.low, d.var->dtype), int_imm(d.high - d.low, d.var->dtype)}); }
  }
  std::optional<Analyzer::Scope> scope;
  if (s.constraint) { scope.emplace(analyzer.enter(s.constraint)); }
  bool integer = !e.dtype().is_bool(), vector = e.dtype().is_vector();
  Expr simplified = analyzer.simplify(e), rewritten = analyzer.rewrite_simplify(e), canonical = analyzer.canonical_simplify(e);
  for (const Expr* result : {&simplified, &rewritten, &canonical}) {
    if (result->dtype() != e.dtype()) { return "another type: " + text_of(*result); }
    if (!result->same_as(e) && deep_equal(*result, e)) { return "the same again as another node: " + text_of(*result); }
  }
  if (Expr again = s.extensions == 0 ? analyzer.simplify(simplified) : simplified; !again.same_as(simplified)) { return "simplified to " + text_of(simplified) + ", and again to " + text_of(again); }
  ConstIntBound bound = analyzer.const_int_bound(e);
  ModularSet modulus = integer && !vector ? analyzer.modular_set(e) : ModularSet{};
  Proof proof = integer ? Proof::Unknown : analyzer.prove(e);
  Proof strong = integer ? Proof::Unknown : analyzer.prove(e, Strength::SymbolicBound);
  Space results = s.at_ends ? s.space->of_integers() : *s.space;
  Column low, high;
  bool has_low = false, has_high = false;
  if (integer && !vector) {
    IntSet set = analyzer.int_set(e);
    if (set.is_nothing()) { has_low = true; low = s.space->evaluate(int_imm(1000000, DataType::int_(64))); }
    if ((has_low = set.has_lower_bound() || has_low) && !set.is_nothing()) { low = results.evaluate(set.min()); }
    if ((has_high = set.has_upper_bound())) { high = results.evaluate(set.max()); }
  }
  Column holds;
  if (s.constraint) { holds = s.space->evaluate(s.constraint); }
  for (int lane = 0; lane < e.dtype().lanes; ++lane) {
    Column value = s.space->evaluate(e, lane), a = results.evaluate(simplified, lane), b = results.evaluate(rewritten, lane), c = results.evaluate(canonical, lane);
    for (size_t p = 0; p < s.space->size(); ++p) {
      if (!value.defined[p] || (s.constraint && (!holds.defined[p] || holds.value[p] == 0))) { continue; }
      int64_t v = value.value[p];
      auto at = [&] { return " at " + s.space->point(p) + (vector ? ", lane " + std::to_string(lane) : "") + ", where it is " + std::to_string(v); };
      auto wrong = [&](const Column& x) { return !x.beyond(p) && (!x.defined[p] || x.value[p] != v); };
      if (wrong(a)) { return "simplified to " + text_of(simplified) + ", wrong" + at(); }
      if (wrong(b)) { return "rewritten to " + text_of(rewritten) + ", wrong" + at(); }
      if (wrong(c)) { return "canonical as " + text_of(canonical) + ", wrong" + at(); }
      bool large = e.dtype().is_uint() && e.dtype().bits == 64;
      // The smallest int64 is below the constant for minus infinity.
      bool is_low = bound.min != ConstIntBound::neg_inf && v < bound.min;
      if (integer && !large && (is_low || v > bound.max)) { return "bounds " + std::to_string(bound.min) + " .. " + std::to_string(bound.max) + " wrong" + at(); }
      if (integer && !vector && (modulus.coeff == 0 ? v != modulus.base : (__int128(v) - modulus.base) % modulus.coeff != 0)) {
        return "modular set " + std::to_string(modulus.coeff) + " * k + " + std::to_string(modulus.base) + " wrong" + at();
      }
      if (proof != Proof::Unknown && (proof == Proof::True) != (v != 0)) { return "proved wrongly" + at(); }
      if (strong != Proof::Unknown && (strong == Proof::True) != (v != 0)) { return "proved wrongly with symbolic bounds" + at(); }
      if (has_low && !large && low.defined[p] && !low.beyond(p) && v < low.value[p]) { return "below the interval's " + std::to_string(low.value[p]) + at(); }
      if (has_high && !large && high.defined[p] && !high.beyond(p) && v > high.value[p]) { return "above the interval's " + std::to_string(high.value[p]) + at(); }
    }
  }
  return {};
}

// Tries each node in place of the whole expression, then replaces inner nodes by one of their operands.
auto shrink(Expr e, Setting s) -> std::string {
  if (s.constraint) {
    Setting without = s;
    without.constraint = Expr();
    if (!complaint(e, without).empty()) { s = without; }
  }
  bool smaller = true;
  for (int round = 0; smaller && round < 50; ++round) {
    smaller = false;
    std::vector<Expr> parts;
    post_order(e, [&](const Expr& n) { if (!n.same_as(e)) { parts.push_back(n); } });
    for (const Expr& part : parts) {
      if (part.as<VarNode>() || part.as<IntImm>() || part.dtype().is_vector() != e.dtype().is_vector()) { continue; }
      if (!complaint(part, s).empty()) { e = part; smaller = true; break; }
    }
    if (smaller) { continue; }
    struct Replace : Mutator {
      const ExprNode* what = nullptr;
      Expr by;
#define EXPR(Kind)
#define BINARY(Kind) auto on(const Kind& n) -> Expr override { return &n == what ? by : Mutator::on(n); }
#include "ir/nodes.def"
      auto on(const Select& n) -> Expr override { return &n == what ? by : Mutator::on(n); }
      auto on(const Call& n) -> Expr override { return &n == what ? by : Mutator::on(n); }
    };
    for (const Expr& part : parts) {
      std::vector<Expr> operands;
      switch (part.kind()) {
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
          operands = {static_cast<const BinaryNode*>(part.get())->a, static_cast<const BinaryNode*>(part.get())->b};
          break;
        case NodeKind::Select: operands = {part.as<Select>()->true_value, part.as<Select>()->false_value}; break;
        case NodeKind::Call: operands = {part.as<Call>()->args[0]}; break;
        default: break;
      }
      for (const Expr& by : operands) {
        if (by.dtype() != part.dtype()) { continue; }
        Replace replace;
        replace.what = part.get();
        replace.by = by;
        Expr candidate = replace.mutate(e);
        if (!candidate.same_as(e) && !complaint(candidate, s).empty()) { e = candidate; smaller = true; break; }
      }
      if (smaller) { break; }
    }
  }
  std::string domains;
  for (const Domain& d : s.space->domains()) {
    domains += (domains.empty() ? "" : ", ") + std::string(d.var->name.view()) + ": " + d.var->dtype.str() + " in [" + std::to_string(d.low) + ", " + std::to_string(d.high) + ")";
  }
  return text_of(e) + (s.constraint ? " if " + text_of(s.constraint) : "") + (s.extensions ? " (extensions " + std::to_string(s.extensions) + ")" : "") +
         " with " + domains + (s.bound ? "" : " (not bound)") + ": " + complaint(e, s);
}

auto judge(const Expr& e, const Setting& s) -> std::string { return complaint(e, s).empty() ? std::string() : shrink(e, s); }

}  // namespace

namespace {

auto check_any(Random& random, bool at_ends) -> std::string {
  // Usually index types; other integers wrap around, and the rules for index types must not apply to them.
  static const DataType types[] = {DataType::int_(32), DataType::int_(32), DataType::int_(32), DataType::int_(64), DataType::int_(64), DataType::int_(32),
                                   DataType::int_(8), DataType::uint(8), DataType::uint(32), DataType::int_(16), DataType::uint(64)};
  DataType dtype = types[random.chance(3) ? random.pick(11) : random.pick(6)];
  Space space(random_domains(random, dtype, random.pick(3) + 1, 150, at_ends));
  Generator generator(random, dtype, space.domains(), at_ends);
  Expr e = random.chance(3) ? generator.rule_instance() : Expr();
  if (!e) { e = random.chance(3) ? generator.condition(random.pick(3) + 1) : generator.integer(random.pick(4) + 1); }
  Expr constraint = random.chance(4) ? generator.condition(random.pick(2) + 1) : Expr();
  uint8_t extensions = random.chance(5) ? static_cast<uint8_t>(random.pick(16)) : 0;
  return judge(e, {&space, constraint, extensions, !random.chance(6), at_ends});
}

}  // namespace

auto check_expression(Random& random) -> std::string { return check_any(random, false); }
auto check_ends(Random& random) -> std::string { return check_any(random, true); }

auto check_vector(Random& random) -> std::string {
  DataType dtype = DataType::int_(random.chance(4) ? 64 : 32);
  Space space(random_domains(random, dtype, random.pick(2) + 1, 60));
  Generator generator(random, dtype, space.domains());
  Expr e = generator.vector(random.pick(3) + 1, random.chance(2) ? 4 : random.pick(6) + 2);
  Expr constraint = random.chance(6) ? generator.condition(1) : Expr();
  return judge(e, {&space, constraint, 0, !random.chance(6)});
}

}  // namespace loopsmith::fuzz
