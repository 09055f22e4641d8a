// Iteration maps with symbolic extents: simplification through detected maps, and the normal form of sums.
#include "tests/unit/catch.h"

#include <functional>

#include "arith/iter_map.h"
#include "expression.h"
#include "ir/ops.h"

using namespace loopsmith;
using namespace loopsmith::arith;
using loopsmith::oracle::text_of;

namespace {

const DataType i64 = DataType::int_(64);
auto number(int64_t value) -> Expr { return int_imm(value, i64); }
auto from_zero_to(const Expr& extent) -> Range { return {number(0), extent}; }

// The index rebuilt from its detected map. `sizes` are not negative.
auto simplified(const Expr& index, const IterDomains& iters, const std::vector<Var>& sizes, const Expr& predicate = bool_imm(true), bool trivial = true) -> std::string {
  Analyzer analyzer;
  for (const Var& n : sizes) { analyzer.mark_non_negative(n); }
  return text_of(iter_map_simplify({index}, iters, predicate, IterMapLevel::Surjective, analyzer, trivial)[0]);
}

auto normal_form(const Expr& index, const IterDomains& iters) -> std::string {
  Analyzer analyzer;
  IterSum sum = normalize_to_iter_sum(index, iters, analyzer);
  std::string out;
  for (const IterSplit& split : sum->args) { out += text_of(normalize_iter_map_to_expr(split, analyzer)) + " | "; }
  return out + text_of(analyzer.simplify(sum->base));
}

}  // namespace

TEST_CASE("an iterator that was split by a symbolic extent is recombined") {
  Var x = var("x", i64), y = var("y", i64), n = var("n", i64);
  Expr square = n * n, fused = x * number(32) + y;
  auto by_n = [&](const Expr& e) { return floordiv(e, n) * n + floormod(e, n); };
  auto by_square = [&](const Expr& e) {
    return floormod(floordiv(e, square), number(32)) * square + floormod(floordiv(e, n), n) * n + floormod(e, n);
  };
  auto nested = [&](const Expr& e) {
    return (floordiv(floormod(e, square * number(32)), square) * n + floordiv(floormod(e, square), n)) * n + floormod(e, n);
  };
  auto open = [&](const Expr& e) { return (floordiv(e, square) * n + floordiv(floormod(e, square), n)) * n + floormod(e, n); };
  CHECK(simplified(by_n(x), {{x, from_zero_to(n * number(32))}}, {n}) == "x");
  CHECK(simplified(by_n(fused), {{x, from_zero_to(n)}, {y, from_zero_to(number(32))}}, {n}) == "x * T.int64(32) + y");
  for (const auto& split : {std::function<Expr(const Expr&)>(by_square), std::function<Expr(const Expr&)>(nested), std::function<Expr(const Expr&)>(open)}) {
    CHECK(simplified(split(x), {{x, from_zero_to(square * number(32))}}, {n}) == "x");
  }
  CHECK(simplified(by_square(fused), {{x, from_zero_to(square)}, {y, from_zero_to(number(32))}}, {n}) == "x * T.int64(32) + y");
  CHECK(simplified(nested(fused), {{x, from_zero_to(square)}, {y, from_zero_to(number(32))}}, {n}) == "x * T.int64(32) + y");
}

TEST_CASE("a predicate bounds a fused iterator, by symbolic extents, too") {
  Var x = var("x", i64), y = var("y", i64), n = var("n", i64);
  Expr square = n * n, fused = x * number(32) + y, wider = x * number(64) + y;
  Expr half = floordiv(n + number(1), number(2)), half_square = floordiv(square + number(1), number(2));
  CHECK(simplified(floordiv(fused, n) * n + floormod(fused, n), {{x, from_zero_to(half)}, {y, from_zero_to(number(32))}}, {n}, less(fused, n * number(16))) ==
        "x * T.int64(32) + y");
  CHECK(simplified((floordiv(wider, square) * n + floordiv(floormod(wider, square), n)) * n + floormod(wider, n),
                   {{x, from_zero_to(half_square)}, {y, from_zero_to(number(64))}}, {n}, less(wider, square * number(32))) == "x * T.int64(64) + y");
}

TEST_CASE("a reshape through a symbolic extent is no change") {
  Var f = var("f", i64), n = var("n", i64);
  Expr outer = floordiv(floordiv(f, number(4096)), n), middle = floormod(floordiv(f, number(4096)), n), inner = floormod(f, number(4096));
  Expr index = floormod(floordiv(inner, number(4096)) + outer * n + middle, n) * number(4096) + floormod(inner, number(4096));
  CHECK(simplified(index, {{f, from_zero_to(n * number(4096))}}, {}) == "f");
}

TEST_CASE("iterators of extent 1 keep their place where they are not folded") {
  Var x = var("x", i64), y = var("y", i64), z = var("z", i64);
  auto unit = from_zero_to(number(1));
  CHECK(simplified(x + y + z, {{x, unit}, {y, unit}, {z, unit}}, {}, bool_imm(true), false) == "x + y + z");
  CHECK(simplified(x + y + floordiv(z, number(4)) * number(4) + floormod(z, number(4)), {{x, unit}, {y, unit}, {z, from_zero_to(number(32))}}, {}, bool_imm(true), false) ==
        "z + x + y");
  CHECK(simplified(y + number(64) - floormod(x, number(2)) * number(64), {{x, from_zero_to(number(6))}, {y, from_zero_to(number(64))}}, {}, bool_imm(true), false) ==
        "y + T.int64(64) - x % T.int64(2) * T.int64(64)");
  CHECK(simplified(floordiv(x, number(128)) + y + z, {{x, from_zero_to(number(128))}, {y, from_zero_to(number(128))}, {z, unit}}, {}, bool_imm(true), false) == "y + z");
}

TEST_CASE("sums of iterators are ordered by their scale, numbers and symbols in it; the rest is the base") {
  Var x = var("x", i64), y = var("y", i64), z = var("z", i64), a = var("a", i64), n = var("n", i64);
  IterDomains small = {{x, from_zero_to(number(9))}, {y, from_zero_to(number(4))}, {z, from_zero_to(number(3))}};
  Expr two_dimensions = (y + x * number(4) + number(2)) * n;
  CHECK(normal_form(z + two_dimensions + number(3), small) == "x * (n * T.int64(4)) | y * n | z | n * T.int64(2) + T.int64(3)");
  // Not a sum of iterators, so it becomes part of the base.
  CHECK(normal_form(max(Expr(z), Expr(a)) + two_dimensions + number(3), small) == "x * (n * T.int64(4)) | y * n | n * T.int64(2) + T.max(z, a) + T.int64(3)");
  IterDomains large = {{y, from_zero_to(a * n * number(4))}, {x, from_zero_to(n * number(4))}, {z, from_zero_to(a)}};
  CHECK(normal_form(z + (y * number(4) * a + x * number(4) + number(2)) * n + number(3), large) ==
        "y * (a * n * T.int64(4)) | x * (n * T.int64(4)) | z | n * T.int64(2) + T.int64(3)");
  CHECK(normal_form(z + y * number(6) + x * number(4), large) == "y * T.int64(6) | x * T.int64(4) | z | T.int64(0)");
  CHECK(normal_form(z + y * number(6) + floordiv(x, number(2)) * number(4), large) == "y * T.int64(6) | x // T.int64(2) * T.int64(4) | z | T.int64(0)");
  CHECK(normal_form(z * number(2) + y * number(6) + floordiv(x, number(4)) * number(4) + floormod(x, number(4)), large) == "y * T.int64(6) | z * T.int64(2) | x | T.int64(0)");
}

TEST_CASE("an iterator that does not divide evenly is padded to whole tiles") {
  Var x = var("x", i64);
  Analyzer analyzer;
  IterSum sum = normalize_to_iter_sum(floordiv(x, number(5)), {{x, from_zero_to(number(4096))}}, analyzer);
  REQUIRE(sum->args.size() == 1);
  CHECK(is_int(sum->args[0].lower_factor, 5));
  CHECK(is_int(sum->args[0].extent, 820));
  CHECK(is_one(sum->args[0].scale));
}

TEST_CASE("loads are no iterators, and indivisible maps are refused") {
  Var n = var("n"), m = var("m"), divisor = var("divisor"), i = var("i"), j = var("j");
  Buffer lengths = make_buffer("lengths", DataType::int_(32), {n});
  Analyzer analyzer;
  auto map = detect_iter_map({floordiv(Expr(make<BufferLoad>(lengths, Array<Expr>{i})) + j, Expr(divisor))}, {{i, Range{int_imm(0), n}}, {j, Range{int_imm(0), m}}},
                             bool_imm(true), IterMapLevel::NoCheck, analyzer);
  CHECK(map.indices.empty());
  CHECK_FALSE(map.errors.empty());
}

TEST_CASE("symbolic tiles: an exact split is a bijection, a split that leaves a rest is padded or refused") {
  Var i = var("i", i64), j = var("j", i64), f = var("f", i64), n = var("n", i64);
  auto found = [&](const std::vector<Expr>& indices, const IterDomains& iters, IterMapLevel level) {
    Analyzer analyzer;
    analyzer.mark_non_negative(n, true);
    auto map = detect_iter_map(indices, iters, bool_imm(true), level, analyzer);
    std::string out;
    for (const IterSum& sum : map.indices) { out += (out.empty() ? "" : ", ") + text_of(normalize_iter_map_to_expr(sum, analyzer)); }
    return out.empty() ? std::string("refused") : out;
  };
  IterDomains tiles = {{i, from_zero_to(n)}, {j, from_zero_to(number(16))}};
  CHECK(found({i * number(16) + j}, tiles, IterMapLevel::Bijective) == "i * T.int64(16) + j");
  CHECK(found({i, j}, tiles, IterMapLevel::Bijective) == "i, j");
  // 15 instead of 16: two iterations have the same index.
  CHECK(found({i * number(15) + j}, tiles, IterMapLevel::Bijective) == "refused");
  CHECK(found({i, i}, tiles, IterMapLevel::Surjective) == "refused");
  IterDomains whole = {{f, from_zero_to(n * number(16))}};
  CHECK(found({floordiv(f, number(16)), floormod(f, number(16))}, whole, IterMapLevel::Bijective) == "f // T.int64(16), f % T.int64(16)");
  CHECK(found({floordiv(f, number(16))}, whole, IterMapLevel::Surjective) == "f // T.int64(16)");
  CHECK(found({floordiv(f, number(16))}, whole, IterMapLevel::Bijective) == "refused");
  IterDomains open = {{f, from_zero_to(n)}};
  CHECK(found({floordiv(f, number(16)), floormod(f, number(16))}, open, IterMapLevel::Bijective) == "refused");
}
