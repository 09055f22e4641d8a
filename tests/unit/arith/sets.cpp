// Interval sets, regions relaxed over loops, bound deduction; affine maps inverted and divided.
#include "tests/unit/catch.h"

#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "expression.h"
#include "ir/ops.h"

using namespace loopsmith;
using namespace loopsmith::arith;
using loopsmith::oracle::text_of;

namespace {
auto range(int64_t min, int64_t extent) -> Range { return {int_imm(min), int_imm(extent)}; }
auto ends(Analyzer& analyzer, const IntSet& set) -> std::string {
  return (set.min() ? text_of(analyzer.simplify(set.min())) : "-inf") + " .. " + (set.max() ? text_of(analyzer.simplify(set.max())) : "inf");
}
}  // namespace

TEST_CASE("an index is relaxed over a loop, and keeps its other variables") {
  Var i = var("i"), j = var("j");
  Analyzer analyzer;
  DomMap dom = {{j.get(), IntSet::from_range(range(0, 8))}};
  CHECK(ends(analyzer, eval_set(i * int_imm(8) + j, dom)) == "i * 8 .. i * 8 + 7");
  CHECK(ends(analyzer, eval_set(i * int_imm(8) - j, dom)) == "i * 8 - 7 .. i * 8");
  CHECK(ends(analyzer, eval_set(floordiv(j, int_imm(2)), dom)) == "0 .. 3");
  CHECK(ends(analyzer, eval_set(Range{j, int_imm(3)}, dom)) == "0 .. 9");
  CHECK(text_of(eval_set(Expr(j), dom).cover_range(range(0, 100)).extent) == "8");
}

TEST_CASE("the union of regions covers both; its lower bound needs regions that touch") {
  Analyzer analyzer;
  std::vector<IntSet> apart = {IntSet::from_range(range(0, 4)), IntSet::from_range(range(10, 4))};
  CHECK(ends(analyzer, union_of(apart)) == "0 .. 13");
  CHECK(ends(analyzer, union_lower_bound(apart)) == "0 .. 3");
  std::vector<IntSet> touching = {IntSet::from_range(range(0, 4)), IntSet::from_range(range(4, 4))};
  CHECK(ends(analyzer, union_lower_bound(touching)) == "0 .. 7");
  CHECK(intersect(apart).is_nothing());
}

TEST_CASE("an affine access has an exact region, one with holes none") {
  Var i = var("i"), j = var("j");
  Analyzer analyzer;
  std::vector<std::pair<Var, Range>> dom = {{i, range(0, 4)}, {j, range(0, 8)}};
  auto exact = estimate_region_strict_bound(Array<Range>{point(i * int_imm(8) + j)}, dom, bool_imm(true), analyzer);
  REQUIRE(exact);
  CHECK(ends(analyzer, (*exact)[0]) == "0 .. 31");
  CHECK(!estimate_region_strict_bound(Array<Range>{point(i * int_imm(9) + j)}, dom, bool_imm(true), analyzer));
  CHECK(ends(analyzer, estimate_region_upper_bound(Array<Range>{point(i * int_imm(9) + j)}, dom, bool_imm(true), analyzer)[0]) == "0 .. 34");
}

TEST_CASE("a bound is deduced whatever the relaxed variables are") {
  Var x = var("x"), y = var("y"), n = var("n");
  Analyzer analyzer;
  DomMap relax = {{y.get(), IntSet::from_range(range(0, 8))}};
  CHECK(ends(analyzer, deduce_bound(x, less((x + y) * int_imm(4), n), {}, relax)) == "-inf .. (n - 1) // 4 - 7");
  CHECK(ends(analyzer, deduce_bound(x, less_equal(int_imm(10), x * int_imm(3)), {}, {})) == "4 .. inf");
  CHECK(ends(analyzer, deduce_bound(x, less_equal(int_imm(5) - x, int_imm(2)), {}, {})) == "3 .. inf");
  CHECK(deduce_bound(x, less(floormod(x, int_imm(4)), int_imm(2)), {}, {}).is_nothing());
}

TEST_CASE("a bijective map is inverted") {
  Var f = var("f"), a = var("a"), b = var("b");
  Analyzer analyzer;
  auto map = detect_iter_map({floordiv(f, int_imm(8)), floormod(f, int_imm(8))}, {{f, range(0, 32)}}, bool_imm(true), IterMapLevel::Bijective, analyzer);
  REQUIRE(map.indices.size() == 2);
  auto inverse = inverse_affine_iter_map(map.indices, {a, b});
  REQUIRE(inverse.contains(f.get()));
  CHECK(text_of(analyzer.simplify(inverse.at(f.get()))) == "a * 8 + b");

  Var i = var("i"), j = var("j"), o = var("o");
  auto fused = detect_iter_map({i * int_imm(8) + j}, {{i, range(0, 4)}, {j, range(0, 8)}}, bool_imm(true), IterMapLevel::Bijective, analyzer);
  auto back = inverse_affine_iter_map(fused.indices, {o});
  CHECK(text_of(analyzer.simplify(back.at(i.get()))) == "o // 8");
  CHECK(text_of(analyzer.simplify(back.at(j.get()))) == "o % 8");
}

TEST_CASE("a space is divided into outer and inner") {
  Var i = var("i"), j = var("j"), k = var("k");
  Analyzer analyzer;
  IterDomains domains = {{i, range(0, 4)}, {j, range(0, 8)}, {k, range(0, 3)}};
  auto division = subspace_divide({i * int_imm(8) + j, k}, domains, {j, k}, bool_imm(true), IterMapLevel::Bijective, analyzer);
  REQUIRE(division);
  CHECK(text_of(division->bindings[0].outer) == "i");
  CHECK(text_of(division->bindings[0].outer_extent) == "4");
  CHECK(text_of(division->bindings[0].inner) == "j");
  CHECK(text_of(division->bindings[0].inner_extent) == "8");
  CHECK(text_of(division->bindings[1].outer_extent) == "1");
  CHECK(text_of(division->bindings[1].inner) == "k");
  // The inner part must be contiguous.
  CHECK(!subspace_divide({i * int_imm(8) + j}, {{i, range(0, 4)}, {j, range(0, 8)}}, {i}, bool_imm(true), IterMapLevel::Bijective, analyzer));
}
