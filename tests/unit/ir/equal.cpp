// Structural equality: the fields that take part, those that do not, and the first difference.
#include "ir/equal.h"

#include "../catch.h"
#include "ir/ops.h"

using namespace loopsmith;

namespace {

struct Options { const char* var = "i"; const char* buffer = "A"; const char* block = "b"; int extent = 8; int value = 1; const char* note = nullptr; int id = 0; };

auto program(Options o) -> IRModule {
  Buffer a = make_buffer(o.buffer, DataType::int_(32), {int_imm(8)});
  Var i = var(o.var), v = var("v");
  Block::Fields f;
  f.name = o.block;
  f.iter_vars = {{v, from_zero(int_imm(8)), IterKind::Spatial, {}, {}}};
  f.writes = {{a, {point(v)}, {}}};
  f.body = make<BufferStore>(a, Expr(v) + int_imm(o.value), Array<Expr>{v}, Origin{.decl = 1, .begin = 7, .end = 9, .step = 0});
  Stmt body = make<BlockRealize>(Array<Expr>{i}, bool_imm(true), make<Block>(f));
  AttrMap notes;
  if (o.note) { notes = with_attr(notes, o.note, int_imm(1)); }
  body = make<For>(i, int_imm(0), int_imm(o.extent), ForKind::Serial, body, std::nullopt, notes);
  PrimFuncNode fn;
  Var p = var("p", DataType::handle());
  fn.params = {p};
  fn.buffer_map = {{p, a}};
  fn.body = body;
  return module_of(make_func(fn));
}

}  // namespace

TEST_CASE("names, ids and origins take no part") {
  IRModule a = program({});
  for (const Options& o : {Options{.var = "j"}, Options{.buffer = "B"}, Options{.block = "c"}}) {
    CHECK(structural_equal(a, program(o)));
    CHECK(structural_hash(a) == structural_hash(program(o)));
  }
}

TEST_CASE("everything else does") {
  IRModule a = program({});
  for (const Options& o : {Options{.extent = 4}, Options{.value = 2}, Options{.note = "pragma"}}) {
    CHECK_FALSE(structural_equal(a, program(o)));
    CHECK(structural_hash(a) != structural_hash(program(o)));
  }
}

TEST_CASE("the first difference has a path and both pieces") {
  auto d = first_difference(program({}), program({.value = 2}));
  REQUIRE(d);
  CHECK(d->path == "function `main` > loop `i` > block `b` > store to `A` > value > right operand");
  CHECK(d->left == "1");
  CHECK(d->right == "2");
  CHECK(d->left_origin.begin == 7);
  d = first_difference(program({}), program({.note = "pragma"}));
  REQUIRE(d);
  CHECK(d->path == "function `main` > loop `i` > annotations");
  CHECK(d->left == "(nothing)");
  CHECK(d->right == "\"pragma\": 1");
  CHECK_FALSE(first_difference(program({}), program({})));
}

TEST_CASE("free variables correspond only where asked") {
  Var x = var("x"), y = var("y");
  Expr a = make<Add>(x, x), b = make<Add>(y, y), c = make<Add>(x, y);
  CHECK_FALSE(structural_equal(a, b));
  CHECK(structural_equal(a, a));
  CHECK(structural_equal(a, b, {.map_free_vars = true}));
  CHECK_FALSE(structural_equal(a, c, {.map_free_vars = true}));
  CHECK_FALSE(structural_equal(c, a, {.map_free_vars = true}));
  CHECK(structural_hash(a) == structural_hash(b));
}

TEST_CASE("types take part") {
  CHECK_FALSE(structural_equal(int_imm(1), int_imm(1, DataType::int_(64))));
  auto d = first_difference(int_imm(1, DataType::int_(8)), int_imm(1, DataType::uint(8)));
  REQUIRE(d);
  CHECK(d->left == "T.int8(1)");
  CHECK(d->right == "T.uint8(1)");
}
