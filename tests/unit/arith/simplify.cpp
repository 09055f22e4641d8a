// Simplification keeps the value: random expressions are compared by evaluation on all points of small domains. It is
// idempotent, returns the same node where nothing changes, and always ends.
#include "tests/support/effort.h"
#include "tests/unit/catch.h"

#include <cstdlib>
#include <random>

#include "arith/int_set.h"
#include "expression.h"
#include "ir/ops.h"

using namespace loopsmith;
using loopsmith::oracle::evaluate;
using loopsmith::oracle::text_of;
using loopsmith::oracle::Values;

namespace {

class Generator {
 public:
  Generator(uint64_t seed, std::vector<Var> vars) : random_(seed), vars_(std::move(vars)) {}
  auto pick(int n) -> int { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  auto constant() -> Expr { return int_imm(pick(4) == 0 ? pick(41) - 20 : pick(9) + 1); }
  auto integer(int depth) -> Expr {
    if (depth == 0 || pick(6) == 0) { return pick(4) == 0 ? constant() : Expr(vars_[static_cast<size_t>(pick(static_cast<int>(vars_.size())))]); }
    Expr a = integer(depth - 1);
    switch (pick(12)) {
      case 0: case 1: return make<Add>(a, integer(depth - 1));
      case 2: return make<Sub>(a, integer(depth - 1));
      case 3: case 4: return make<Mul>(a, constant());
      case 5: return make<FloorDiv>(a, nonzero());
      case 6: return make<FloorMod>(a, nonzero());
      case 7: return make<Div>(a, nonzero());
      case 8: return make<Mod>(a, nonzero());
      case 9: return make<Min>(a, integer(depth - 1));
      case 10: return make<Max>(a, integer(depth - 1));
      default: return make<Select>(condition(depth - 1), a, integer(depth - 1));
    }
  }
  auto condition(int depth) -> Expr {
    if (depth > 1 && pick(4) == 0) {
      Expr a = condition(depth - 1);
      switch (pick(3)) {
        case 0: return make<And>(a, condition(depth - 1));
        case 1: return make<Or>(a, condition(depth - 1));
        default: return make<Not>(a);
      }
    }
    Expr a = integer(depth), b = integer(depth);
    switch (pick(6)) {
      case 0: return make<EQ>(a, b);
      case 1: return make<NE>(a, b);
      case 2: return make<LT>(a, b);
      case 3: return make<LE>(a, b);
      case 4: return make<GT>(a, b);
      default: return make<GE>(a, b);
    }
  }

 private:
  auto nonzero() -> Expr { return int_imm(pick(12) == 0 ? -(pick(6) + 1) : pick(9) + 1); }
  std::mt19937_64 random_;
  std::vector<Var> vars_;
};

struct Domain { int64_t low, high; };

// Calls f with the values of the variables at each point.
template <class F>
void each_point(const std::vector<Var>& vars, const std::vector<Domain>& domains, F f) {
  std::vector<int64_t> at;
  for (const Domain& d : domains) { at.push_back(d.low); }
  while (true) {
    Values values;
    for (size_t i = 0; i < vars.size(); ++i) { values[vars[i].get()] = at[i]; }
    f(values);
    size_t i = 0;
    while (i < at.size() && ++at[i] == domains[i].high) { at[i] = domains[i].low; ++i; }
    if (i == at.size()) { return; }
  }
}

// The error in simplifying this expression, or "".
auto complaint(const Expr& e, const std::vector<Var>& vars, const std::vector<Domain>& domains, const Expr& constraint) -> std::string {
  arith::Analyzer analyzer;
  for (size_t i = 0; i < vars.size(); ++i) { analyzer.bind(vars[i], Range{int_imm(domains[i].low), int_imm(domains[i].high - domains[i].low)}); }
  std::optional<arith::Analyzer::Scope> scope;
  if (constraint) { scope.emplace(analyzer.enter(constraint)); }
  Expr simplified = analyzer.simplify(e), rewritten = analyzer.rewrite_simplify(e), canonical = analyzer.canonical_simplify(e);
  bool integer = !e.dtype().is_bool();
  arith::ConstIntBound bound = analyzer.const_int_bound(e);
  arith::ModularSet modulus = integer ? analyzer.modular_set(e) : arith::ModularSet{};
  arith::Proof proof = integer ? arith::Proof::Unknown : analyzer.prove(e);
  std::string what;
  each_point(vars, domains, [&](const Values& values) {
    if (!what.empty() || (constraint && evaluate(constraint, values).value_or(0) == 0)) { return; }
    auto value = evaluate(e, values);
    if (!value) { return; }
    auto wrong = [&](const Expr& other) { return evaluate(other, values) != value; };
    if (wrong(simplified)) { what = "simplified to " + text_of(simplified); }
    else if (wrong(rewritten)) { what = "rewritten to " + text_of(rewritten); }
    else if (wrong(canonical)) { what = "canonical as " + text_of(canonical); }
    else if (integer && (*value < bound.min || *value > bound.max)) { what = "outside its bounds"; }
    else if (integer && (modulus.coeff == 0 ? *value != modulus.base : (*value - modulus.base) % modulus.coeff != 0)) { what = "outside its modular set"; }
    else if (proof != arith::Proof::Unknown && (proof == arith::Proof::True) != (*value != 0)) { what = "proved wrongly"; }
  });
  return what.empty() ? what : text_of(e) + (constraint ? " if " + text_of(constraint) : "") + ": " + what;
}

}  // namespace

TEST_CASE("random expressions keep their value") {
  std::vector<Var> vars = {var("x"), var("y"), var("z")};
  // More with LOOPSMITH_RANDOM_SEED and LOOPSMITH_RANDOM_COUNT.
  auto setting = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  uint64_t seed = setting("LOOPSMITH_RANDOM_SEED", 20250101), count = setting("LOOPSMITH_RANDOM_COUNT", 6000 / tests::stride(6));
  Generator generator(seed, vars);
  for (uint64_t i = 0; i < count; ++i) {
    std::vector<Domain> domains;
    for (size_t v = 0; v < vars.size(); ++v) {
      int64_t low = generator.pick(3) == 0 ? generator.pick(9) - 6 : 0;
      domains.push_back({low, low + 1 + generator.pick(7)});
    }
    Expr e = generator.pick(3) == 0 ? generator.condition(3) : generator.integer(4);
    Expr constraint = generator.pick(4) == 0 ? generator.condition(2) : Expr();
    std::string what = complaint(e, vars, domains, constraint);
    if (!what.empty()) { FAIL("seed " << seed << ": " << what); }
  }
  SUCCEED();
}

TEST_CASE("simplification is idempotent, and returns simple expressions as the same node") {
  Var i = var("i"), j = var("j");
  arith::Analyzer analyzer;
  analyzer.bind(i, Range{int_imm(0), int_imm(16)});
  analyzer.bind(j, Range{int_imm(0), int_imm(8)});
  for (const Expr& e : {Expr(i), i * int_imm(8) + j, floordiv(i, int_imm(4)), less(i * int_imm(8) + j, int_imm(100)), min(i, j)}) {
    CHECK(analyzer.simplify(e).same_as(e));
  }
  Expr once = analyzer.simplify(floordiv(i * int_imm(8) + j, int_imm(4)));
  CHECK(analyzer.simplify(once).same_as(once));
}

TEST_CASE("the fast path for linear sums gives the same results as the rules") {
  // With facts of a scope the fast path for linear sums is off, so the rules are tested.
  std::mt19937_64 random(20261124);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const DataType types[] = {DataType::int_(32), DataType::int_(64)};
  for (int round = 0; round < 4000; ++round) {
    const DataType dtype = types[below(4) == 0 ? 1 : 0];
    std::vector<Var> vars;
    arith::Analyzer quick, rules;
    for (const char* name : {"a", "b", "c", "d"}) {
      vars.push_back(var(name, dtype));
      if (below(3) == 0) { continue; }
      Range range{int_imm(below(3) == 0 ? below(9) - 4 : 0, dtype), int_imm(1 + below(20), dtype)};
      quick.bind(vars.back(), range);
      rules.bind(vars.back(), range);
    }
    if (below(8) == 0) {
      Var last = var("e", dtype);
      Expr value = Expr(vars.front()) + int_imm(1, dtype);
      quick.bind(last, value);
      rules.bind(last, value);
      vars.back() = last;
    }
    std::function<Expr(int)> sum = [&](int depth) -> Expr {
      switch (depth == 0 ? below(3) : below(6)) {
        case 0: return vars[static_cast<size_t>(below(4))];
        case 1: return Expr(vars[static_cast<size_t>(below(4))]) * int_imm(int64_t{1} << below(8), dtype);
        case 2: return int_imm(below(4) == 0 ? below(40) - 20 : below(64), dtype);
        case 3: return make<Sub>(sum(depth - 1), sum(depth - 1));
        case 4: return make<Add>(sum(depth - 1), sum(depth - 1));
        default: return sum(depth - 1) + sum(depth - 1);
      }
    };
    Expr e = sum(static_cast<int>(below(5)));
    if (below(3) == 0) { e = below(2) == 0 ? min(e, e + int_imm(below(9), dtype)) : max(e + int_imm(below(9), dtype), e); }
    Expr other = sum(2);
    Var flag = var("flag", dtype);
    auto scope = rules.enter(greater_equal(flag, zero(dtype)));
    INFO(text_of(e) << " and " << text_of(other) << ", round " << round);
    CHECK(text_of(quick.simplify(e)) == text_of(rules.simplify(e)));
    CHECK(quick.can_prove_equal(e, other) == rules.can_prove_equal(e, other));
  }
}

TEST_CASE("terms that a Let separated are simplified until nothing changes") {
  Var x = var("x"), l = var("l"), m = var("m");
  Expr most = max(Expr(x), int_imm(8)), more = floordiv(Expr(x), int_imm(6));
  for (int64_t low : {0, 4}) {
    arith::Analyzer analyzer;
    analyzer.bind(x, Range{int_imm(low), int_imm(10)});
    for (const Expr& e : {min(most + (x + more), make<Let>(l, Expr(x), Expr(l))) - most, max(most + more + Expr(make<Let>(m, Expr(x), m + x)), x + (most + more))}) {
      Expr once = analyzer.simplify(e);
      CHECK(analyzer.simplify(once).same_as(once));
    }
  }
}

TEST_CASE("a split loop's index is found again") {
  Var outer = var("i_0"), inner = var("i_1");
  arith::Analyzer analyzer;
  analyzer.bind(outer, Range{int_imm(0), int_imm(32)});
  analyzer.bind(inner, Range{int_imm(0), int_imm(32)});
  Expr fused = outer * int_imm(32) + inner;
  CHECK(text_of(analyzer.simplify(floordiv(fused, int_imm(32)))) == "i_0");
  CHECK(text_of(analyzer.simplify(floormod(fused, int_imm(32)))) == "i_1");
  CHECK(text_of(analyzer.simplify(less(fused, int_imm(1000)))) == "i_0 * 32 + i_1 < 1000");
  CHECK(analyzer.can_prove(less(fused, int_imm(1024))));
  CHECK(analyzer.prove(less(fused, int_imm(1000))) == arith::Proof::Unknown);
  CHECK(analyzer.prove(less(int_imm(2000), fused)) == arith::Proof::False);
}

TEST_CASE("a remainder by a negative number is not positive") {
  Var x = var("x");
  arith::Analyzer analyzer;
  analyzer.bind(x, Range{int_imm(0), int_imm(6)});
  // -1 at x = 1
  CHECK(text_of(analyzer.simplify(make<FloorDiv>(make<FloorMod>(Expr(x), int_imm(-2)), int_imm(3)))) == "x % -2 // 3");
  Expr same = make<Mul>(make<FloorMod>(make<Mul>(Expr(x), int_imm(-1)), int_imm(2)), int_imm(-1));
  CHECK(text_of(analyzer.canonical_simplify(make<FloorDiv>(same, int_imm(3)))) == "x % -2 // 3");
  CHECK(text_of(analyzer.canonical_simplify(make<FloorDiv>(make<FloorMod>(Expr(x), int_imm(2)), int_imm(3)))) == "0");
}

TEST_CASE("parts of a value that is not negative are no larger than the value") {
  arith::Analyzer analyzer;
  Var a = var("a"), b = var("b"), c = var("c");
  analyzer.bind(a, Range{int_imm(0), int_imm(50)});
  analyzer.bind(b, Range{int_imm(0), int_imm(9)});
  analyzer.bind(c, Range{int_imm(-5), int_imm(9)});
  auto part = [](const Expr& e) { return floormod(make<Div>(e, int_imm(2)), int_imm(6)); };
  CHECK(analyzer.prove(less(mul(add(a, b), int_imm(6)), part(a))) == arith::Proof::False);
  CHECK(analyzer.prove(less(add(a, b), floordiv(a, int_imm(7)))) == arith::Proof::False);
  CHECK(analyzer.prove(less(add(a, mul(b, int_imm(3))), floormod(a, int_imm(8)))) == arith::Proof::False);
  // 0 % 8 is as large as 0; a remainder of a negative value is larger.
  CHECK(analyzer.prove(less_equal(add(a, b), floormod(a, int_imm(8)))) == arith::Proof::Unknown);
  CHECK(analyzer.prove(less(add(c, b), floormod(c, int_imm(8)))) == arith::Proof::Unknown);
}

TEST_CASE("facts of a scope end with it") {
  Var n = var("n"), i = var("i");
  arith::Analyzer analyzer;
  {
    auto scope = analyzer.enter(less(i, n));
    CHECK(analyzer.can_prove(less(i, n + int_imm(1))));
    auto inner = analyzer.enter(equal(floormod(n, int_imm(8)), int_imm(0)));
    CHECK(analyzer.can_prove(equal(floormod(n, int_imm(4)), int_imm(0))));
  }
  CHECK(!analyzer.can_prove(less(i, n + int_imm(1))));
  CHECK(!analyzer.can_prove(equal(floormod(n, int_imm(4)), int_imm(0))));
}

TEST_CASE("extensions prove more, and only when asked to") {
  Var a = var("a"), b = var("b"), c = var("c");
  arith::Analyzer analyzer;
  auto first = analyzer.enter(less_equal(a, b));
  auto second = analyzer.enter(less(b, c));
  CHECK(!analyzer.can_prove(less(a, c)));
  analyzer.set_extensions(arith::transitively_prove_inequalities);
  CHECK(analyzer.can_prove(less(a, c)));
  CHECK(!analyzer.can_prove(less(c, a)));

  Var x = var("x");
  arith::Analyzer plain, branching;
  branching.set_extensions(arith::apply_constraints_to_boolean_branches);
  Expr condition = make<And>(less(x, int_imm(5)), less(x, int_imm(10)));
  CHECK(text_of(plain.simplify(condition)) == "x < 5 and x < 10");
  CHECK(text_of(branching.simplify(condition)) == "x < 5");
}

TEST_CASE("symbolic extents: bounds by the loops around are proved with intervals") {
  Var n = var("n"), i = var("i"), j = var("j");
  arith::Analyzer analyzer;
  analyzer.mark_non_negative(n, true);
  analyzer.bind(i, Range{int_imm(0), n});
  analyzer.bind(j, Range{int_imm(0), int_imm(32)});
  Expr fused = i * int_imm(32) + j;
  CHECK(!analyzer.can_prove(less(fused, n * int_imm(32))));
  CHECK(analyzer.can_prove(less(fused, n * int_imm(32)), arith::Strength::SymbolicBound));
  CHECK(!analyzer.can_prove(less(fused, n * int_imm(31)), arith::Strength::SymbolicBound));
  CHECK(analyzer.can_prove(less(i, n)));
}

TEST_CASE("a proof beyond the budget is unknown, not false") {
  // The same sum forwards and backwards must be found equal.
  auto forwards_is_backwards = [](int terms) {
    Var x = var("x"), y = var("y");
    Expr forwards = y, backwards = y;
    for (int i = 0; i < terms; ++i) { forwards = make<Add>(forwards, make<FloorDiv>(make<Mul>(x, y), int_imm(i + 2))); }
    for (int i = terms; i-- > 0;) { backwards = make<Add>(backwards, make<FloorDiv>(make<Mul>(x, y), int_imm(i + 2))); }
    arith::Analyzer analyzer;
    return analyzer.prove(make<EQ>(forwards, backwards));
  };
  CHECK(forwards_is_backwards(5) == arith::Proof::True);
  CHECK(forwards_is_backwards(100) == arith::Proof::True);
  CHECK(forwards_is_backwards(20000) == arith::Proof::Unknown);
}

TEST_CASE("input made to be hard ends") {
  Var x = var("x");
  arith::Analyzer analyzer;
  Expr deep = x;
  for (int i = 0; i < tests::size_of_test(5000, 5000, 500); ++i) { deep = make<Add>(make<FloorDiv>(deep, int_imm(3)), x); }
  (void)analyzer.simplify(deep);
  // Each level needs proofs about the level below.
  Expr nested = x;
  for (int i = 0; i < 40; ++i) { nested = make<Min>(make<FloorMod>(make<Add>(make<Mul>(nested, int_imm(3 + i % 5)), x), int_imm(17 + i)), make<Max>(nested, x)); }
  (void)analyzer.simplify(less(nested, int_imm(5)));
  // Shared nodes: trees of 2^60 nodes. Every question must end, with any answer.
  Var other = var("y");
  auto doubled = [&](auto step) { Expr e = x; for (int i = 0; i < 60; ++i) { e = step(e, i); } return e; };
  for (const Expr& e : {doubled([](Expr a, int) -> Expr { return make<Add>(a, a); }),
                        doubled([](Expr a, int) -> Expr { return make<Mul>(a, a); }),
                        doubled([](Expr a, int i) -> Expr { return make<Min>(make<Add>(a, int_imm(i)), a); }),
                        doubled([](Expr a, int) -> Expr { return make<Add>(make<FloorDiv>(a, int_imm(3)), make<FloorMod>(a, int_imm(5))); }),
                        doubled([&](Expr a, int) -> Expr { return make<Select>(make<LT>(a, other), a, make<Sub>(other, a)); })}) {
    arith::Analyzer fresh;
    fresh.set_extensions(arith::apply_constraints_to_boolean_branches | arith::transitively_prove_inequalities);
    (void)fresh.simplify(e);
    (void)fresh.const_int_bound(e);
    (void)fresh.modular_set(e);
    (void)fresh.int_set(e);
    (void)fresh.prove(less(e, other), arith::Strength::SymbolicBound);
    auto scope = fresh.enter(less(e, int_imm(7)));
  }
  // Many conjuncts, each of which could be simplified under all others.
  Expr many = less(x, other);
  for (int i = 0; i < tests::size_of_test(500, 500, 60); ++i) { many = make<And>(many, make<LT>(make<FloorMod>(x, int_imm(i + 2)), make<Mul>(var("v"), int_imm(i)))); }
  arith::Analyzer wide;
  wide.set_extensions(arith::apply_constraints_to_boolean_branches);
  (void)wide.simplify(many);
  // Constants at the ends of their type.
  Expr big = make<IntImm>(DataType::int_(64), std::numeric_limits<int64_t>::min());
  Var y = var("y", DataType::int_(64));
  (void)analyzer.simplify(less(make<Mul>(make<FloorDiv>(y, make<IntImm>(DataType::int_(64), -1)), big), make<Sub>(big, y)));
  (void)analyzer.simplify(make<FloorDiv>(y, make<IntImm>(DataType::int_(64), 0)));
  (void)analyzer.simplify(make<FloorMod>(make<Mul>(y, big), make<IntImm>(DataType::int_(64), 0)));
  SUCCEED();
}
