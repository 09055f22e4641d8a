// Flat kernels written by hand, compiled, run and compared with plain C++.
#include <cmath>
#include <numeric>

#include "tests/unit/codegen/build.h"

using namespace loopsmith;
using namespace loopsmith::test;

TEST_CASE("an elementwise loop, scalar") {
  Buffer a = buffer("A", f32, 100);
  Buffer b = buffer("B", f32, 100);
  Var i = var("i");
  Tensor x = random(f32, {100}, 1);
  Tensor y = zeros(f32, {100});
  run(function({a, b}, loop(i, 100, put(b, i, at(a, i) * float_imm(2) + float_imm(1)))), {&x, &y});
  for (int k = 0; k < 100; ++k) { CHECK(y.as<float>()[k] == std::fma(x.as<float>()[k], 2.0F, 1.0F)); }
}

TEST_CASE("every level of optimisation, and no contraction, give the same where products are exact") {
  for (int level : {0, 1, 2, 3}) {
    Buffer a = buffer("A", f64, 33);
    Buffer b = buffer("B", f64, 33);
    Var i = var("i");
    Tensor x = random(f64, {33}, 1, runtime::Fill::SmallIntegers);
    Tensor y = zeros(f64, {33});
    run(function({a, b}, loop(i, 33, put(b, i, at(a, i) * at(a, i) - float_imm(1, f64)))), {&x, &y}, {.contract = level != 1, .opt_level = level});
    for (int k = 0; k < 33; ++k) { CHECK(y.as<double>()[k] == x.as<double>()[k] * x.as<double>()[k] - 1); }
  }
}

TEST_CASE("vectors with a masked tail touch nothing beyond the end") {
  const int n = 37;
  Buffer a = buffer("A", f32, n);
  Buffer b = buffer("B", f32, 48);
  Var i = var("i");
  Expr index = ramp(i * int_imm(16), 16);
  Expr live = less(index, splat(int_imm(n), 16));
  Tensor x = random(f32, {n}, 1);
  Tensor y = random(f32, {48}, 2);
  Tensor before = std::move(y.copy()).value();
  run(function({a, b}, loop(i, 3, put(b, index, at(a, index, live) + splat(float_imm(1), 16), live))), {&x, &y});
  for (int k = 0; k < 48; ++k) { CHECK(y.as<float>()[k] == (k < n ? x.as<float>()[k] + 1 : before.as<float>()[k])); }
}

TEST_CASE("a scalar store under a predicate computes nothing where that does not hold") {
  Buffer a = buffer("A", i32, 4);
  Buffer b = buffer("B", i32, 4);
  Var i = var("i");
  Tensor x = zeros(i32, {4});
  Tensor y = zeros(i32, {4});
  x.as<int32_t>()[1] = 3;
  Expr value = make<FloorDiv>(int_imm(12), at(a, i));
  run(function({a, b}, loop(i, 4, make<BufferStore>(b, value, Array<Expr>{i}, Origin{}, not_equal(at(a, i), int_imm(0))))), {&x, &y});
  CHECK(y.as<int32_t>()[0] == 0);
  CHECK(y.as<int32_t>()[1] == 4);
}

TEST_CASE("a vector if_then_else reads only the lanes it chose") {
  const int n = 19;
  Buffer a = buffer("A", f32, n);
  Buffer b = buffer("B", f32, 32);
  Var i = var("i");
  Expr index = ramp(i * int_imm(16), 16);
  Expr chosen = intrinsic(f32.with_lanes(16), "if_then_else", {less(index, splat(int_imm(n), 16)), at(a, index), splat(float_imm(-1), 16)});
  Tensor x = random(f32, {n}, 1);
  Tensor y = zeros(f32, {32});
  run(function({a, b}, loop(i, 2, put(b, index, chosen))), {&x, &y});
  for (int k = 0; k < 32; ++k) { CHECK(y.as<float>()[k] == (k < n ? x.as<float>()[k] : -1)); }
}

TEST_CASE("stores to every second or fourth element, with those between them, write every element once") {
  for (int count : {2, 4, 8}) {
    // B[i * 16 * count + lane * count + part] = A[part][i * 16 + lane] + part; the last program reads these values.
    for (bool reads_own : {false, true}) {
      const int n = 32 * count;
      Buffer a = buffer("A", i8, n);
      Buffer b = buffer("B", i8, n);
      Var i = var("i");
      std::vector<Stmt> stores;
      for (int part = 0; part < count; ++part) {
        Expr to = make<Ramp>(i * int_imm(16 * count) + int_imm(part), int_imm(count), int_imm(16));
        Expr from = reads_own ? at(b, ramp(i * int_imm(16 * count), 16)) : at(a, ramp(int_imm(part * 32) + i * int_imm(16), 16));
        stores.push_back(put(b, to, from + splat(int_imm(part, i8), 16)));
      }
      Tensor x = random(i8, {n}, 1, runtime::Fill::SmallIntegers);
      Tensor y = random(i8, {n}, 2, runtime::Fill::SmallIntegers);
      std::vector<int8_t> expected(y.as<int8_t>().begin(), y.as<int8_t>().end());
      for (int block = 0; block < 2; ++block) {
        for (int part = 0; part < count; ++part) {
          std::vector<int8_t> before = expected;
          for (int lane = 0; lane < 16; ++lane) {
            const int8_t read = reads_own ? before[static_cast<size_t>(block * 16 * count + lane)] : x.as<int8_t>()[static_cast<size_t>(part * 32 + block * 16 + lane)];
            expected[static_cast<size_t>((block * 16 + lane) * count + part)] = static_cast<int8_t>(read + part);
          }
        }
      }
      run(function({a, b}, loop(i, 2, seq(stores))), {&x, &y});
      for (int k = 0; k < n; ++k) { CHECK(y.as<int8_t>()[static_cast<size_t>(k)] == expected[static_cast<size_t>(k)]); }
    }
  }
}

TEST_CASE("gather, scatter, strided and reversed") {
  Buffer a = buffer("A", f32, 64);
  Buffer places = buffer("P", i32, 16);
  Buffer b = buffer("B", f32, 64);
  Tensor x = random(f32, {64}, 1);
  Tensor p = zeros(i32, {16});
  for (int k = 0; k < 16; ++k) { p.as<int32_t>()[k] = (k * 7 + 3) % 16; }
  auto test = [&](Expr from, Expr to, auto source, auto sink) {
    Tensor y = zeros(f32, {64});
    run(function({a, places, b}, put(b, to, at(a, from))), {&x, &p, &y});
    for (int k = 0; k < 16; ++k) { CHECK(y.as<float>()[sink(k)] == x.as<float>()[source(k)]); }
  };
  auto same = [](int k) { return k; };
  test(at(places, ramp(int_imm(0), 16)), ramp(int_imm(0), 16), [](int k) { return (k * 7 + 3) % 16; }, same);
  test(ramp(int_imm(0), 16), at(places, ramp(int_imm(0), 16)), same, [](int k) { return (k * 7 + 3) % 16; });
  test(ramp(int_imm(1), 16, 3), ramp(int_imm(0), 16), [](int k) { return 1 + 3 * k; }, same);
  test(ramp(int_imm(15), 16, -1), ramp(int_imm(0), 16, 4), [](int k) { return 15 - k; }, [](int k) { return 4 * k; });
  test(ramp(int_imm(5), 16, 0), ramp(int_imm(0), 16), [](int) { return 5; }, same);
}

TEST_CASE("matrix products: accumulators in a local buffer, unrolled and vectorised, rows in parallel") {
  const int m = 24;
  const int n = 48;
  const int k = 33;
  Buffer a = buffer("A", f32, m * k);
  Buffer b = buffer("B", f32, k * n);
  Buffer c = buffer("C", f32, m * n);
  Buffer t = make_buffer("T", f32, {int_imm(4 * 16)}, "local");
  Var i = var("i");
  Var j = var("j");
  Var r = var("r");
  Var kk = var("k");
  auto unrolled = [&](Stmt body) { return loop(r, 4, std::move(body), ForKind::Unrolled); };
  Expr row = i * int_imm(4) + r;
  Stmt zero_tile = unrolled(put(t, ramp(r * int_imm(16), 16), splat(float_imm(0), 16)));
  Stmt update = unrolled(put(t, ramp(r * int_imm(16), 16),
                             at(t, ramp(r * int_imm(16), 16)) + splat(at(a, row * int_imm(k) + kk), 16) * at(b, ramp(kk * int_imm(n) + j * int_imm(16), 16))));
  Stmt write = unrolled(put(c, ramp(row * int_imm(n) + j * int_imm(16), 16), at(t, ramp(r * int_imm(16), 16))));
  Stmt tile = make<Allocate>(t->data, f32, Array<Expr>{int_imm(64)}, bool_imm(true), seq({zero_tile, loop(kk, k, update), write}));
  PrimFunc f = function({a, b, c}, loop(i, m / 4, loop(j, n / 16, tile), ForKind::Parallel));
  Tensor x = random(f32, {m * k}, 1, runtime::Fill::SmallIntegers);
  Tensor y = random(f32, {k * n}, 2, runtime::Fill::SmallIntegers);
  Tensor z = zeros(f32, {m * n});
  run(f, {&x, &y, &z});
  for (int p = 0; p < m; ++p) {
    for (int q = 0; q < n; ++q) {
      float sum = 0;
      for (int s = 0; s < k; ++s) { sum += x.as<float>()[p * k + s] * y.as<float>()[s * n + q]; }
      REQUIRE(z.as<float>()[p * n + q] == sum);
    }
  }
}

TEST_CASE("shapes that are variables, scalars, workspace that depends on them") {
  Var n = var("n");
  Var scale = var("scale", f32);
  Buffer a = buffer("A", f32, std::vector<Expr>{Expr(n)});
  Buffer b = buffer("B", f32, std::vector<Expr>{Expr(n)});
  Buffer t = make_buffer("T", f32, {Expr(n)});
  Var i = var("i");
  Var j = var("j");
  Stmt body = make<Allocate>(t->data, f32, Array<Expr>{Expr(n)}, bool_imm(true),
                             seq({loop(i, Expr(n), put(t, i, at(a, i) * Expr(scale))), loop(j, Expr(n), put(b, j, at(t, Expr(n) - int_imm(1) - j)))}));
  auto module = compiled(function({a, b}, body, {scale}));
  for (int size : {0, 1, 7, 100000}) {
    Tensor x = random(f32, {size}, 1);
    Tensor y = zeros(f32, {size});
    run(module, {&x, &y, 2.5});
    for (int k = 0; k < size; ++k) { REQUIRE(y.as<float>()[k] == x.as<float>()[size - 1 - k] * 2.5F); }
  }
  Tensor x = random(f32, {4}, 1);
  Tensor y = zeros(f32, {5});
  auto status = runtime::call(module.functions().front(), std::vector<runtime::Value>{&x, &y, 1.0});
  REQUIRE_FALSE(status.ok());
  CHECK(status.diagnostics().front().message() == "argument `B` of `main` must have shape (n,), but has (5,)");
}

TEST_CASE("while, let, if, break and continue") {
  Buffer a = buffer("A", i32, 1);
  Buffer b = buffer("B", i32, 10);
  Var i = var("i");
  Var x = var("x");
  // Collatz steps of A[0] into B[0]; odd places of B up to 7 get their square.
  Expr value = at(a, int_imm(0));
  Expr half = make<FloorDiv>(value, int_imm(2));
  Expr odd = equal(make<FloorMod>(value, int_imm(2)), int_imm(1));
  Stmt step = seq({make<IfThenElse>(odd, put(a, int_imm(0), value * int_imm(3) + int_imm(1)), put(a, int_imm(0), half)),
                   put(b, int_imm(0), at(b, int_imm(0)) + int_imm(1))});
  Stmt collatz = make<While>(not_equal(value, int_imm(1)), step);
  Stmt squares = loop(i, 10, make<LetStmt>(x, i * i, seq({
      make<IfThenElse>(greater(i, int_imm(7)), make<Break>()),
      make<IfThenElse>(equal(make<FloorMod>(Expr(i), int_imm(2)), int_imm(0)), make<Continue>()),
      put(b, i, x)})));
  Tensor p = zeros(i32, {1});
  p.as<int32_t>()[0] = 27;
  Tensor q = zeros(i32, {10});
  run(function({a, b}, seq({collatz, squares})), {&p, &q});
  CHECK(q.as<int32_t>()[0] == 111);
  for (int k = 1; k < 10; ++k) { CHECK(q.as<int32_t>()[k] == (k <= 7 && k % 2 == 1 ? k * k : 0)); }
}

TEST_CASE("floor and truncating division, of both signs") {
  for (int divisor : {7, 8, -3, -4}) {
    Buffer a = buffer("A", i32, 41);
    Buffer b = buffer("B", i32, 41 * 4);
    Var i = var("i");
    Expr x = at(a, i);
    Expr d = int_imm(divisor);
    Stmt body = seq({put(b, i, make<FloorDiv>(x, d)), put(b, i + int_imm(41), make<FloorMod>(x, d)), put(b, i + int_imm(82), make<Div>(x, d)),
                     put(b, i + int_imm(123), make<Mod>(x, d))});
    Tensor p = zeros(i32, {41});
    Tensor q = zeros(i32, {41 * 4});
    for (int k = 0; k < 41; ++k) { p.as<int32_t>()[k] = k - 20; }
    run(function({a, b}, loop(i, 41, body)), {&p, &q});
    for (int k = 0; k < 41; ++k) {
      int v = k - 20;
      int down = static_cast<int>(std::floor(static_cast<double>(v) / divisor));
      CHECK(q.as<int32_t>()[k] == down);
      CHECK(q.as<int32_t>()[k + 41] == v - down * divisor);
      CHECK(q.as<int32_t>()[k + 82] == v / divisor);
      CHECK(q.as<int32_t>()[k + 123] == v % divisor);
    }
  }
}

TEST_CASE("casts between all kinds, scalar and vector") {
  Tensor source = random(f32, {32}, 5);
  for (DataType t : {f64, f16, bf16, i8, i32, i64, DataType::bool_()}) {
    for (int lanes : {1, 16}) {
      Buffer a = buffer("A", f32, 32);
      Buffer b = buffer("B", t, 32);
      Buffer c = buffer("C", f32, 32);
      Var i = var("i");
      Expr index = lanes == 1 ? Expr(i) : ramp(i * int_imm(16), 16);
      Expr four = lanes == 1 ? float_imm(4) : splat(float_imm(4), 16);
      Stmt there = put(b, index, make<Cast>(t.with_lanes(lanes), at(a, index) * four));
      Stmt back = put(c, index, make<Cast>(f32.with_lanes(lanes), at(b, index)));
      Tensor y = zeros(t, {32});
      Tensor z = zeros(f32, {32});
      run(function({a, b, c}, loop(i, 32 / lanes, seq({there, back}))), {&source, &y, &z});
      for (int k = 0; k < 32; ++k) {
        float v = source.as<float>()[k] * 4;
        double expected = v;
        if (t == f16) { expected = runtime::half_to_float(runtime::float_to_half(v)); }
        if (t.is_bfloat16()) { expected = runtime::bfloat_to_float(runtime::float_to_bfloat(v)); }
        if (t.is_int()) { expected = std::trunc(v); }
        if (t.is_bool()) { expected = v != 0 ? 1 : 0; }
        CHECK(y.get(k) == expected);
        CHECK(z.as<float>()[k] == static_cast<float>(expected));
      }
    }
  }
}

TEST_CASE("int8 products summed in int32, bfloat16 arithmetic rounded at each step") {
  Buffer a = buffer("A", u8, 64);
  Buffer b = buffer("B", i8, 64);
  Buffer c = buffer("C", i32, 1);
  Var i = var("i");
  Expr product = make<Cast>(i32, at(a, i)) * make<Cast>(i32, at(b, i));
  Tensor x = random(u8, {64}, 1);
  Tensor y = random(i8, {64}, 2);
  Tensor z = zeros(i32, {1});
  run(function({a, b, c}, loop(i, 64, put(c, int_imm(0), at(c, int_imm(0)) + product))), {&x, &y, &z});
  int sum = 0;
  for (int k = 0; k < 64; ++k) { sum += x.as<uint8_t>()[k] * y.as<int8_t>()[k]; }
  CHECK(z.as<int32_t>()[0] == sum);

  Buffer p = buffer("P", bf16, 16);
  Buffer q = buffer("Q", bf16, 16);
  Expr all = ramp(int_imm(0), 16);
  Tensor u = random(bf16, {16}, 3);
  Tensor v = zeros(bf16, {16});
  run(function({p, q}, put(q, all, at(p, all) * at(p, all) + at(p, all))), {&u, &v});
  for (int k = 0; k < 16; ++k) {
    auto round = [](float f) { return runtime::bfloat_to_float(runtime::float_to_bfloat(f)); };
    auto f = static_cast<float>(u.get(k));
    CHECK(v.get(k) == round(round(f * f) + f));
  }
}

TEST_CASE("asserts stop a kernel with their text, in parallel loops, too, and its memory is released") {
  for (ForKind kind : {ForKind::Serial, ForKind::Parallel}) {
    Buffer a = buffer("A", i32, 1000);
    Buffer t = make_buffer("T", f32, {int_imm(100000)});
    Var i = var("i");
    Stmt check = make<AssertStmt>(less(at(a, i), int_imm(10)), make<StringImm>("A must stay below ten"), no_op());
    Stmt body = make<Allocate>(t->data, f32, Array<Expr>{int_imm(100000)}, bool_imm(true), loop(i, 1000, check, kind));
    auto module = compiled(function({a}, body));
    Tensor x = zeros(i32, {1000});
    run(module, {&x});
    x.as<int32_t>()[777] = 10;
    auto status = runtime::call(module.functions().front(), std::vector<runtime::Value>{&x});
    REQUIRE_FALSE(status.ok());
    CHECK(status.diagnostics().front().message() == "`main` stopped: A must stay below ten");
  }
}

TEST_CASE("code that cannot be compiled has a diagnostic, and no crash") {
  Buffer a = buffer("A", f32, 4);
  auto message_of = [&](Stmt body) {
    auto module = runtime::JitModule::compile(module_of(function({a}, std::move(body))), target::host());
    REQUIRE_FALSE(module.ok());
    return module.diagnostics().front().message();
  };
  CHECK(message_of(put(a, int_imm(0), Expr(var("x", f32)))).find("variable `x`") != std::string::npos);
  CHECK(message_of(put(a, int_imm(0), intrinsic(f32, "no_such_thing", {float_imm(1)}))).find("`no_such_thing`") != std::string::npos);
  CHECK(message_of(put(buffer("B", f32, 4), int_imm(0), float_imm(1))).find("`B`") != std::string::npos);
  CHECK(message_of(make<Evaluate>(intrinsic(i32, "call_extern", {make<StringImm>("system"), int_imm(0)}))).find("system") != std::string::npos);
  Expr deep = at(a, int_imm(0));
  for (int k = 0; k < 20000; ++k) { deep = make<Add>(deep, float_imm(1)); }
  CHECK(message_of(put(a, int_imm(0), deep)).find("nested") != std::string::npos);
  for (int k = 0; k < 20000; ++k) { deep = deep.as<Add>()->a; }
}

TEST_CASE("objects are the same bytes each time, for other machines too; unknown processors are named") {
  Buffer a = buffer("A", f32, 64);
  Var i = var("i");
  IRModule module = module_of(function({a}, loop(i, 64, put(a, i, at(a, i) + float_imm(1)), ForKind::Parallel)));
  for (const char* text : {"llvm -mcpu=sapphirerapids -num-cores=2", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", "llvm -mtriple=wasm32-unknown-unknown"}) {
    auto target = target::parse(text);
    REQUIRE(target.ok());
    auto once = codegen::emit(module, *target, codegen::EmitKind::Object, {.hosted = false});
    auto again = codegen::emit(module, *target, codegen::EmitKind::Object, {.hosted = false});
    if (!once.ok()) { FAIL(text_of(once.diagnostics())); }
    CHECK(*once == *again);
    CHECK(once->size() > 100);
  }
  auto wrong = target::parse("llvm -mcpu=znver44");
  REQUIRE(wrong.ok());
  auto status = codegen::check_target(*wrong);
  REQUIRE_FALSE(status.ok());
  CHECK(status.diagnostics().front().message() == "architecture x86-64 has no processor `znver44`");
  CHECK(status.diagnostics().front().remedies.front() == "did you mean `znver4`?");
}

TEST_CASE("an unscheduled block of tens of thousands of instructions computes the same as a loop") {
  constexpr int count = 1800;
  Buffer a = buffer("A", f32, count);
  Buffer b = buffer("B", f32, count);
  auto step = [&](const Expr& i) { return put(b, i, intrinsic(f32, "exp", {at(a, i)}) + at(b, i - int_imm(1)) * float_imm(0.5)); };
  std::vector<Stmt> steps;
  for (int k = 1; k < count; ++k) { steps.push_back(step(int_imm(k))); }
  Var i = var("i");
  Tensor x = random(f32, {count}, 3);
  Tensor one = zeros(f32, {count});
  Tensor other = zeros(f32, {count});
  run(function({a, b}, seq(steps)), {&x, &one});
  run(function({a, b}, make<For>(i, int_imm(1), int_imm(count - 1), ForKind::Serial, step(i))), {&x, &other});
  for (int k = 0; k < count; ++k) { REQUIRE(one.as<float>()[k] == Approx(other.as<float>()[k]).epsilon(1e-6)); }
  CHECK(one.as<float>()[count - 1] > 0);
}
