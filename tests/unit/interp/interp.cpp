// The interpreter: the meaning of programs, compared with plain C++; errors are reported with the iteration in which they occur.
#include "interp/interp.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "interp/compare.h"
#include "ir/ops.h"
#include "ir/reals.h"
#include "support/codes.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::interp;

namespace {

auto loop(const Var& v, int64_t extent, Stmt body, ForKind kind = ForKind::Serial) -> Stmt {
  return make<For>(v, int_imm(0), int_imm(extent), kind, std::move(body));
}

// C[i, j] = sum over k of A[i, k] * B[k, j], as a block with an init.
auto matmul(int64_t m, int64_t n, int64_t k, int64_t a_shift = 0) -> IRModule {
  DataType f32 = DataType::float_(32);
  Buffer a = make_buffer("A", f32, {int_imm(m), int_imm(k)});
  Buffer b = make_buffer("B", f32, {int_imm(k), int_imm(n)});
  Buffer c = make_buffer("C", f32, {int_imm(m), int_imm(n)});
  Var vi = var("vi"), vj = var("vj"), vk = var("vk"), i = var("i"), j = var("j"), l = var("k");
  Expr product = mul(make<BufferLoad>(a, Array<Expr>{vi, add(Expr(vk), int_imm(a_shift))}), make<BufferLoad>(b, Array<Expr>{vk, vj}));
  Stmt store = make<BufferStore>(c, add(make<BufferLoad>(c, Array<Expr>{vi, vj}), product), Array<Expr>{vi, vj});
  Block::Fields f;
  f.name = "C";
  f.iter_vars = {IterVar{vi, from_zero(int_imm(m)), IterKind::Spatial, {}, {}}, IterVar{vj, from_zero(int_imm(n)), IterKind::Spatial, {}, {}},
                 IterVar{vk, from_zero(int_imm(k)), IterKind::Reduction, {}, {}}};
  f.init = make<BufferStore>(c, float_imm(0), Array<Expr>{vi, vj});
  f.body = store;
  Stmt realize = make<BlockRealize>(Array<Expr>{i, j, l}, bool_imm(true), make<Block>(f));
  Block::Fields root;
  root.name = "root";
  root.body = loop(i, m, loop(j, n, loop(l, k, realize)));
  PrimFuncNode func;
  Var pa = var("A", DataType::handle()), pb = var("B", DataType::handle()), pc = var("C", DataType::handle());
  func.params = {pa, pb, pc};
  func.buffer_map = {{pa, a}, {pb, b}, {pc, c}};
  func.body = make<BlockRealize>(Array<Expr>{}, bool_imm(true), make<Block>(root));
  return module_of(make_func(func));
}

// One output element computed by an expression of one input: y[0] = f(x[0]).
auto evaluate(DataType in, DataType out, const std::function<Expr(Expr)>& f, double x) -> double {
  Buffer a = make_buffer("x", in, {int_imm(1)});
  Buffer b = make_buffer("y", out, {int_imm(1)});
  PrimFuncNode func;
  Var pa = var("x", DataType::handle()), pb = var("y", DataType::handle());
  func.params = {pa, pb};
  func.buffer_map = {{pa, a}, {pb, b}};
  func.body = make<BufferStore>(b, f(make<BufferLoad>(a, Array<Expr>{int_imm(0)})), Array<Expr>{int_imm(0)});
  IRModule module = module_of(make_func(func));
  char xs[8] = {}, ys[8] = {};
  uint64_t bits = in.is_real() ? to_bits(in, x) : static_cast<uint64_t>(static_cast<int64_t>(x));
  std::memcpy(xs, &bits, static_cast<size_t>(in.element_bytes()));
  std::vector<Argument> args = {TensorView{xs, in, {1}}, TensorView{ys, out, {1}}};
  auto stats = interpret(module, "main", args);
  REQUIRE(stats.ok());
  uint64_t got = 0;
  std::memcpy(&got, ys, static_cast<size_t>(out.element_bytes()));
  if (out.is_real()) { return from_bits(out, got); }
  int unused = 64 - 8 * out.element_bytes();
  return out.is_int() ? static_cast<double>(static_cast<int64_t>(got << unused) >> unused) : static_cast<double>(got);
}

}  // namespace

TEST_CASE("a matmul with an init computes the same as C++") {
  constexpr int m = 5, n = 7, k = 11;
  std::vector<float> a(m * k), b(k * n), c(m * n, 99), expected(m * n);
  for (size_t i = 0; i < a.size(); ++i) { a[i] = 0.25F * static_cast<float>(i % 13) - 1; }
  for (size_t i = 0; i < b.size(); ++i) { b[i] = 0.5F * static_cast<float>(i % 7) - 2; }
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) { sum += a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)]; }
      expected[static_cast<size_t>(i * n + j)] = sum;
    }
  }
  DataType f32 = DataType::float_(32);
  std::vector<Argument> args = {TensorView{a.data(), f32, {m, k}}, TensorView{b.data(), f32, {k, n}}, TensorView{c.data(), f32, {m, n}}};
  auto stats = interpret(matmul(m, n, k), "main", args);
  REQUIRE(stats.ok());
  CHECK(stats->block_instances == m * n * k + 1);
  for (size_t i = 0; i < c.size(); ++i) { CHECK(c[i] == expected[i]); }
  CHECK(count_instances(matmul(m, n, k), "main") == m * n * k + 1);
}

TEST_CASE("an access outside is reported with buffer, index and iteration") {
  auto inputs = make_inputs(matmul(3, 3, 4)->find("main"), 1, Contents::SmallIntegers);
  REQUIRE(inputs.ok());
  auto stats = interpret(matmul(3, 3, 4, 1), "main", inputs->arguments);
  REQUIRE_FALSE(stats.ok());
  const Diagnostic& d = stats.diagnostics().front();
  CHECK(d.code == loopsmith::Code::InterpOutOfBounds);
  CHECK(d.message() == "index 4 of `A` is outside of its extent 4 (dimension 1), at i=0, j=0, k=3");
}

TEST_CASE("arguments that do not fit are refused before anything runs") {
  IRModule module = matmul(2, 2, 2);
  auto inputs = make_inputs(module->find("main"), 1, Contents::Reals);
  REQUIRE(inputs.ok());
  std::get<TensorView>(inputs->arguments[1]).shape = {2, 3};
  CHECK_FALSE(interpret(module, "main", inputs->arguments).ok());
  std::get<TensorView>(inputs->arguments[1]).shape = {2, 2};
  std::get<TensorView>(inputs->arguments[1]).dtype = DataType::float_(64);
  CHECK_FALSE(interpret(module, "main", inputs->arguments).ok());
  inputs->arguments.pop_back();
  CHECK_FALSE(interpret(module, "main", inputs->arguments).ok());
}

TEST_CASE("an endless loop stops at its limit, and on request") {
  PrimFuncNode func;
  func.body = make<While>(bool_imm(true), make<Evaluate>(Expr(make<Call>(DataType::int_(32), Name("likely"), Array<Expr>{int_imm(1)}))));
  IRModule module = module_of(make_func(func));
  Options options;
  options.max_seconds = 0.05;
  auto stopped = interpret(module, "main", {}, options);
  REQUIRE_FALSE(stopped.ok());
  CHECK(stopped.diagnostics().front().code == loopsmith::Code::InterpLimit);
  CancelSource source;
  source.cancel();
  Options cancelled;
  cancelled.cancel = source.token();
  CHECK(interpret(module, "main", {}, cancelled).diagnostics().front().code == loopsmith::Code::Cancelled);
}

TEST_CASE("a loop whose iterations do nothing stops at its limit, too") {
  Var i = var("i", DataType::int_(64));
  PrimFuncNode func;
  func.body = make<For>(i, int_imm(0, DataType::int_(64)), int_imm(int64_t{1} << 40, DataType::int_(64)), ForKind::Serial,
                        Stmt(make<IfThenElse>(less(i, int_imm(0, DataType::int_(64))), Stmt(make<Evaluate>(Expr(int_imm(0)))))));
  Options options;
  options.max_steps = 10000;
  auto stopped = interpret(module_of(make_func(func)), "main", {}, options);
  REQUIRE_FALSE(stopped.ok());
  CHECK(stopped.diagnostics().front().code == loopsmith::Code::InterpLimit);
}

TEST_CASE("integers wrap at their width and divide as ir.h defines") {
  DataType i8 = DataType::int_(8), u8 = DataType::uint(8), i32 = DataType::int_(32);
  CHECK(evaluate(i8, i8, [](Expr x) { return add(x, int_imm(100, DataType::int_(8))); }, 100) == -56);
  CHECK(evaluate(u8, u8, [](Expr x) { return sub(x, int_imm(3, DataType::uint(8))); }, 1) == 254);
  CHECK(evaluate(i32, i32, [](Expr x) { return floordiv(x, int_imm(4)); }, -7) == -2);
  CHECK(evaluate(i32, i32, [](Expr x) { return div(x, int_imm(4)); }, -7) == -1);
  CHECK(evaluate(i32, i32, [](Expr x) { return floormod(x, int_imm(4)); }, -7) == 1);
  CHECK(evaluate(i32, i32, [](Expr x) { return truncmod(x, int_imm(4)); }, -7) == -3);
}

TEST_CASE("arithmetic is done in the program's own types") {
  DataType f32 = DataType::float_(32), f16 = DataType::float_(16), f64 = DataType::float_(64);
  CHECK(evaluate(f32, f32, [](Expr x) { return add(x, float_imm(1)); }, 16777216.0) == 16777216.0);
  CHECK(evaluate(f64, f64, [](Expr x) { return add(x, float_imm(1, DataType::float_(64))); }, 16777216.0) == 16777217.0);
  CHECK(evaluate(f16, f16, [](Expr x) { return add(x, float_imm(1, DataType::float_(16))); }, 2048.0) == 2048.0);
  CHECK(evaluate(f32, DataType::int_(32), [](Expr x) { return cast(DataType::int_(32), x); }, -2.9) == -2);
  CHECK(evaluate(f32, f32, [](Expr x) { return make<Call>(DataType::float_(32), Name("exp"), Array<Expr>{x}); }, 1.0) ==
        static_cast<double>(std::exp(1.0F)));
}

TEST_CASE("short floats convert exactly, to nearest even") {
  struct Case { DataType type; double value; uint64_t bits; };
  DataType f16 = DataType::float_(16), bf16 = DataType::bfloat16();
  DataType e4m3{TypeCode::Float8E4M3FN, 8, 1}, e5m2{TypeCode::Float8E5M2, 8, 1};
  double infinity = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {f16, 1.0, 0x3C00}, {f16, -2.0, 0xC000}, {f16, 65504, 0x7BFF}, {f16, 65520, 0x7C00}, {f16, 5.960464477539063e-08, 0x0001},
      {f16, 2049, 0x6800}, {f16, 2051, 0x6802}, {f16, infinity, 0x7C00}, {bf16, 1.0, 0x3F80}, {bf16, 3.140625, 0x4049},
      {e4m3, 448, 0x7E}, {e4m3, 1.0, 0x38}, {e4m3, 0.001953125, 0x01}, {e5m2, 57344, 0x7B}, {e5m2, 1.0, 0x3C}, {e5m2, infinity, 0x7C},
  };
  for (const Case& c : cases) {
    INFO(c.type.str() << " " << c.value);
    CHECK(to_bits(c.type, c.value) == c.bits);
  }
  // Every bit pattern of every short type survives conversion to a double and back.
  for (DataType t : {f16, bf16, e4m3, e5m2, DataType{TypeCode::Float8E4M3FNUZ, 8, 1}, DataType{TypeCode::Float8E5M2FNUZ, 8, 1},
                     DataType{TypeCode::Float8E3M4, 8, 1}, DataType{TypeCode::Float8E4M3B11FNUZ, 8, 1}}) {
    for (uint64_t bits = 0; bits < (uint64_t{1} << t.bits); ++bits) {
      double value = from_bits(t, bits);
      if (std::isnan(value)) { continue; }
      if (to_bits(t, value) != bits) {
        FAIL(t.str() << " " << bits << " " << value << " " << to_bits(t, value));
      }
    }
  }
}

TEST_CASE("vectors: a store computes all lanes before it writes any") {
  // x[0:4] = x[1:5] through ramps: shifting in place.
  DataType i32 = DataType::int_(32);
  Buffer x = make_buffer("x", i32, {int_imm(8)});
  Var p = var("x", DataType::handle());
  auto ramp = [](int64_t base, int64_t stride) { return make<Ramp>(int_imm(base), int_imm(stride), int_imm(4)); };
  PrimFuncNode func;
  func.params = {p};
  func.buffer_map = {{p, x}};
  func.body = seq({make<BufferStore>(x, Expr(make<BufferLoad>(x, Array<Expr>{ramp(0, 1)})), Array<Expr>{ramp(1, 1)}),
                   make<BufferStore>(x, add(Expr(make<BufferLoad>(x, Array<Expr>{ramp(6, -2)})), Expr(make<Broadcast>(int_imm(10), int_imm(4)))),
                                     Array<Expr>{ramp(4, 1)})});
  std::vector<int32_t> data = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<Argument> args = {TensorView{data.data(), i32, {8}}};
  REQUIRE(interpret(module_of(make_func(func)), "main", args).ok());
  CHECK(data == std::vector<int32_t>{0, 0, 1, 2, 16, 13, 11, 10});
}

TEST_CASE("reads of unwritten elements have a warning") {
  DataType f32 = DataType::float_(32);
  Buffer t = make_buffer("t", f32, {int_imm(4)});
  Buffer y = make_buffer("y", f32, {int_imm(4)});
  Var p = var("y", DataType::handle()), i = var("i");
  Block::Fields root;
  root.name = "root";
  root.alloc_buffers = {t};
  root.body = seq({make<BufferStore>(t, float_imm(1), Array<Expr>{int_imm(0)}),
                   loop(i, 4, make<BufferStore>(y, Expr(make<BufferLoad>(t, Array<Expr>{i})), Array<Expr>{i}))});
  PrimFuncNode func;
  func.params = {p};
  func.buffer_map = {{p, y}};
  func.body = make<BlockRealize>(Array<Expr>{}, bool_imm(true), make<Block>(root));
  std::vector<float> data(4);
  std::vector<Argument> args = {TensorView{data.data(), f32, {4}}};
  Options options;
  options.report_unwritten = true;
  auto stats = interpret(module_of(make_func(func)), "main", args, options);
  REQUIRE(stats.ok());
  REQUIRE(stats->warnings.size() == 1);
  CHECK(stats->warnings[0].message() == "`t` is read before anything was written there, at i=1");
}

TEST_CASE("the gate distinguishes equal programs from different ones") {
  auto same = compare_modules(matmul(4, 5, 6), matmul(4, 5, 6), "main");
  REQUIRE(same.ok());
  CHECK(same->equal);
  // One iteration of the reduction is omitted.
  IRModule wrong = matmul(4, 5, 6);
  PrimFuncNode changed = *wrong->find("main");
  const Block* root = root_block(wrong->find("main"));
  const auto* i = root->body.as<For>();
  const auto* j = i->body.as<For>();
  const auto* k = j->body.as<For>();
  Block::Fields fields = root->fields();
  fields.body = loop(i->var, 4, loop(j->var, 5, loop(k->var, 5, k->body)));
  changed.body = make<BlockRealize>(Array<Expr>{}, bool_imm(true), make<Block>(fields));
  auto different = compare_modules(matmul(4, 5, 6), module_of(make_func(changed)), "main");
  REQUIRE(different.ok());
  CHECK_FALSE(different->equal);
  CHECK(different->difference.find("C[") == 0);
}
