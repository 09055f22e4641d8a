// Normal forms of conditions, linear systems, and the origins of simplified nodes.
#include "tests/unit/catch.h"

#include <limits>

#include "arith/int_set.h"
#include "arith/linear_system.h"
#include "expression.h"
#include "ir/ops.h"
#include "ir/visitor.h"

using namespace loopsmith;
using namespace loopsmith::arith;
using loopsmith::oracle::text_of;

TEST_CASE("conditions are simplified across the parts of their normal form, when asked for") {
  Var a = var("a"), b = var("b"), n = var("n");
  Analyzer plain, form;
  form.set_extensions(convert_boolean_to_and_of_ors);
  auto both = [&](const Expr& e) { return text_of(plain.simplify(e)) + " | " + text_of(form.simplify(e)); };
  Expr is_five = make<EQ>(a, int_imm(5));
  // Two alternatives that merge into one.
  CHECK(text_of(form.simplify(make<And>(make<EQ>(a, n), make<Or>(make<LT>(b, int_imm(10)), make<LT>(int_imm(10), b))))) == "a == n and b != 10");
  // Clauses that differ in one alternative; one that follows from another.
  CHECK(both(make<And>(make<Or>(is_five, make<LE>(b, int_imm(10))), make<Or>(is_five, make<LE>(int_imm(11), b)))) ==
        "(a == 5 or b <= 10) and (a == 5 or 11 <= b) | a == 5");
  CHECK(text_of(form.simplify(make<And>(make<Or>(is_five, make<LT>(b, n)), is_five))) == "a == 5");
  // The form would be too large, so the condition is simplified in the ordinary way.
  Expr large;
  for (int i = 0; i < 40; ++i) {
    Expr pair = make<And>(make<LT>(var("p"), var("q")), make<LT>(var("r"), var("s")));
    large = large ? Expr(make<Or>(large, pair)) : pair;
  }
  CHECK(form.simplify(large).same_as(large));
}

TEST_CASE("linear equations: all solutions, in terms of the free variables") {
  Var i = var("i"), j = var("j"), n = var("n");
  Analyzer analyzer;
  // Unimodular: no free variable, no condition.
  auto unique = solve_linear_equations({i, j}, {equal(i + j, n), equal(i - j * int_imm(2), int_imm(0))}, analyzer);
  REQUIRE(unique);
  CHECK(unique->free.empty());
  REQUIRE(unique->conditions.size() == 1);
  CHECK(text_of(unique->conditions[0]) == "n % 3 == 0");
  // 2 i + 3 j == n always has solutions.
  auto open = solve_linear_equations({i, j}, {equal(i * int_imm(2) + j * int_imm(3), n)}, analyzer);
  REQUIRE(open);
  CHECK(open->conditions.empty());
  REQUIRE(open->free.size() == 1);
  VarMap values;
  for (const auto& [v, e] : open->values) { values[v] = e; }
  CHECK(text_of(analyzer.simplify(substitute(i * int_imm(2) + j * int_imm(3), values))) == "n");
  // Results differ for systems without a solution and for conditions that are no linear system.
  auto none = solve_linear_equations({i}, {equal(i * int_imm(2), int_imm(7))}, analyzer);
  REQUIRE(none);
  REQUIRE(none->conditions.size() == 1);
  CHECK(is_zero(none->conditions[0]));
  CHECK(!solve_linear_equations({i, j}, {equal(make<Mul>(i, j), n)}, analyzer));
  CHECK(!solve_linear_equations({i}, {equal(floordiv(i, int_imm(2)), n)}, analyzer));
}

TEST_CASE("linear inequalities: bounds of each variable in terms of the next") {
  Var i = var("i"), j = var("j"), n = var("n");
  Analyzer analyzer;
  auto triangle = solve_linear_inequalities({j, i}, {less_equal(int_imm(0), i), less_equal(i, j), less(j, n)}, analyzer);
  REQUIRE(triangle);
  REQUIRE(triangle->bounds.size() == 2);
  CHECK(text_of(triangle->bounds[0].lower[0]) == "i");
  CHECK(text_of(triangle->bounds[0].upper[0]) == "n - 1");
  REQUIRE(triangle->bounds[1].lower.size() == 1);
  CHECK(text_of(triangle->bounds[1].lower[0]) == "0");
  REQUIRE(triangle->bounds[1].upper.size() == 1);
  CHECK(text_of(triangle->bounds[1].upper[0]) == "n - 1");
  REQUIRE(triangle->conditions.size() == 1);
  CHECK(text_of(triangle->conditions[0]) == "1 <= n");
  auto empty = solve_linear_inequalities({i}, {less(i, int_imm(3)), greater(i, int_imm(5))}, analyzer);
  REQUIRE(empty);
  REQUIRE(empty->conditions.size() == 1);
  CHECK(is_zero(empty->conditions[0]));
  // Bounds are rounded inwards: 3 i <= 10 and 5 <= 2 i give i == 3.
  auto rounded = solve_linear_inequalities({i}, {less_equal(i * int_imm(3), int_imm(10)), less_equal(int_imm(5), i * int_imm(2))}, analyzer);
  REQUIRE(rounded);
  CHECK(text_of(rounded->bounds[0].lower[0]) == "3");
  CHECK(text_of(rounded->bounds[0].upper[0]) == "3");
}

TEST_CASE("bounds are deduced through negative divisors, minima and maxima") {
  Var a = var("a");
  Analyzer analyzer;
  auto low = [&](const Expr& e) { auto s = deduce_bound(a, e, {}, {}); return s.min() ? text_of(s.min()) : std::string(s.is_nothing() ? "nothing" : "-inf"); };
  auto high = [&](const Expr& e) { auto s = deduce_bound(a, e, {}, {}); return s.max() ? text_of(s.max()) : std::string(s.is_nothing() ? "nothing" : "inf"); };
  Expr quotient = make<FloorDiv>(a, int_imm(-8));
  CHECK(high(greater(quotient, int_imm(3))) == "-32");
  CHECK(high(greater_equal(quotient, int_imm(3))) == "-24");
  CHECK(low(less(quotient, int_imm(3))) == "-23");
  CHECK(low(less_equal(quotient, int_imm(3))) == "-31");
  CHECK(high(less(min(Expr(a), int_imm(16)), int_imm(10))) == "9");
  CHECK(high(less(max(Expr(a), int_imm(16)), int_imm(10))) == "nothing");
  CHECK(high(less(max(Expr(a), int_imm(16)), int_imm(20))) == "19");
  CHECK(low(less(int_imm(3), max(Expr(a), int_imm(0)))) == "4");
}

TEST_CASE("a node that a rule makes has the origin of the replaced node") {
  Var i = var("i"), j = var("j");
  Analyzer analyzer;
  analyzer.bind(i, Range{int_imm(0), int_imm(16)});
  Origin outer;
  outer.decl = 7;
  outer.begin = 3;
  outer.end = 12;
  Origin inner = outer;
  inner.end = 9;
  // (i * 8 + j) // 4 is i * 2 + j // 4; min(i, 20) is i, which keeps its own.
  Expr quotient = make<FloorDiv>(Expr(make<Add>(make<Mul>(i, int_imm(8)), j, inner)), int_imm(4), outer);
  CHECK(text_of(analyzer.simplify(quotient)) == "i * 2 + j // 4");
  CHECK(analyzer.simplify(quotient).origin() == outer);
  CHECK(analyzer.rewrite_simplify(quotient).origin() == outer);
  CHECK(analyzer.canonical_simplify(quotient).origin() == outer);
  CHECK(analyzer.simplify(make<LE>(Expr(make<Add>(i, j)), Expr(make<Add>(i, int_imm(4))), outer)).origin() == outer);
  CHECK(!analyzer.simplify(make<Min>(Expr(i), int_imm(20), outer)).origin().is_known());
}

TEST_CASE("rules do not apply where a constant would exceed its type") {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  Var x = var("x");
  Analyzer analyzer;
  // Not x < most - 4, which would be the result with wrapping: no x is that small.
  Expr never = make<LT>(make<Add>(x, int_imm(10)), int_imm(-most + 4));
  CHECK(analyzer.prove(never) != Proof::True);
  CHECK(text_of(analyzer.simplify(never)) != "x < 2147483641");
  CHECK(analyzer.const_int_bound(make<Mul>(Expr(make<Cast>(DataType::uint(8), x)), int_imm(3, DataType::uint(8)))).max == 255);
  CHECK(analyzer.modular_set(make<Mul>(Expr(make<Cast>(DataType::uint(8), x)), int_imm(3, DataType::uint(8)))).coeff == 1);
  CHECK(analyzer.modular_set(make<Mul>(Expr(make<Cast>(DataType::uint(8), x)), int_imm(12, DataType::uint(8)))) == ModularSet{4, 0});
}

TEST_CASE("at the ends of its type nothing is proved by a constant that wrapped around") {
  constexpr int64_t most = std::numeric_limits<int32_t>::max(), longest = std::numeric_limits<int64_t>::max();
  DataType i64 = DataType::int_(64);
  Var x = var("x"), l = var("l", i64);
  Analyzer analyzer;
  analyzer.bind(x, Range{int_imm(0), int_imm(12)});
  auto plus = [](const Expr& a, int64_t c) { return Expr(make<Add>(a, int_imm(c, a.dtype()))); };
  // x - 8 < x + most: the difference of the two constants is no int32.
  CHECK(analyzer.prove(make<LT>(plus(x, -8), plus(x, most))) != Proof::False);
  CHECK(analyzer.prove(make<LT>(plus(x, 3), plus(x, -most))) != Proof::True);
  CHECK(text_of(analyzer.simplify(plus(plus(x, -most), -9))) != "x + " + std::to_string(most - 8));
  // An end of the interval that would wrap around becomes infinite.
  CHECK_FALSE(analyzer.int_set(plus(x, most - 3)).has_upper_bound());
  CHECK(is_int(analyzer.int_set(plus(x, most - 3)).min(), most - 3));
  // The least and the greatest int64 are numbers, not infinities.
  analyzer.bind(l, Range{int_imm(-longest - 1, i64), int_imm(5, i64)});
  CHECK(analyzer.prove(make<LT>(int_imm(-longest, i64), l)) == Proof::Unknown);
  CHECK(analyzer.prove(make<LE>(l, int_imm(-longest - 1, i64))) == Proof::Unknown);
  CHECK(analyzer.const_int_bound(make<FloorDiv>(l, int_imm(2, i64))).max > -longest / 2 - 2);
  // Constants that do not fold: their product and their quotient exceed the type.
  Expr least = int_imm(-most - 1);
  CHECK(text_of(analyzer.simplify(make<FloorDiv>(Expr(make<Add>(Expr(make<Mul>(x, int_imm(-2))), least)), int_imm(-1)))).find("//") != std::string::npos);
  Expr five = make<Call>(i64, Name("if_then_else"), Array<Expr>{Expr(make<LE>(l, l)), int_imm(5, i64), l});
  Var s = var("s", i64);
  analyzer.bind(s, Range{int_imm(0, i64), int_imm(5, i64)});
  CHECK(text_of(analyzer.simplify(make<LT>(int_imm(4, i64), Expr(make<Mul>(Expr(make<Sub>(five, s)), int_imm(longest - 1, i64)))))) != "s < T.int64(1)");
  // A range up to the end of its type.
  Var top = var("top");
  analyzer.bind(top, Range{int_imm(most - 4), int_imm(5)});
  CHECK(analyzer.can_prove(make<LE>(Expr(top), int_imm(most))));
  CHECK(analyzer.prove(make<LT>(Expr(top), int_imm(most))) == Proof::Unknown);
}
