// Every element type: compiled casts and arithmetic equal the interpreter's, bit for bit (all NaNs count as equal). Types of 8
// bits are tested with all values and all pairs, types of 16 bits with all values, wider types with values at and next to
// rounding boundaries.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "interp/interp.h"
#include "ir/reals.h"
#include "tests/unit/codegen/build.h"

using namespace loopsmith;
using namespace loopsmith::test;

namespace {

const std::vector<DataType> short_types = {
    bf16, {TypeCode::Float8E4M3FN, 8}, {TypeCode::Float8E5M2, 8}, {TypeCode::Float8E3M4, 8}, {TypeCode::Float8E4M3, 8},
    {TypeCode::Float8E4M3B11FNUZ, 8}, {TypeCode::Float8E4M3FNUZ, 8}, {TypeCode::Float8E5M2FNUZ, 8}, {TypeCode::Float8E8M0FNU, 8},
};

auto all_types() -> std::vector<DataType> {
  std::vector<DataType> out = short_types;
  for (DataType t : {f16, f32, f64, i8, DataType::int_(16), i32, i64, u8, DataType::uint(16), DataType::uint(32), DataType::uint(64), DataType::bool_()}) {
    out.push_back(t);
  }
  return out;
}

void set_bits(const Tensor& t, int64_t index, uint64_t bits) { std::memcpy(static_cast<char*>(t.data()) + index * t.dtype().element_bytes(), &bits, static_cast<size_t>(t.dtype().element_bytes())); }
auto bits_of(const Tensor& t, int64_t index) -> uint64_t {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(t.data()) + index * t.dtype().element_bytes(), static_cast<size_t>(t.dtype().element_bytes()));
  return bits;
}

/// Values of a type: all of them up to 16 bits.
auto values_of(DataType t) -> Tensor {
  if (t.is_bool()) {
    Tensor out = zeros(t, {16});
    for (int64_t i = 0; i < 16; ++i) { out.set(i, static_cast<double>(i % 2)); }
    return out;
  }
  if (t.bits <= 16) {
    Tensor out = zeros(t, {int64_t{1} << t.bits});
    for (int64_t i = 0; i < out.count(); ++i) { set_bits(out, i, static_cast<uint64_t>(i)); }
    return out;
  }
  std::mt19937_64 random(t.bits);
  std::vector<uint64_t> bits;
  auto add = [&](double v) {
    if (t.is_real()) { bits.push_back(to_bits(t, v)); return; }
    bool fits = t.is_uint() ? v >= 0 && v < std::ldexp(1.0, t.bits) : std::fabs(v) < std::ldexp(1.0, t.bits - 1);
    if (fits) { bits.push_back(v < 0 ? static_cast<uint64_t>(static_cast<int64_t>(v)) : static_cast<uint64_t>(v)); }
  };
  // The midpoint of two neighbours of a shorter type, and the numbers next to it.
  for (DataType s : short_types) {
    for (int k = 0; k < 200; ++k) {
      uint64_t pattern = random() & ((uint64_t{1} << s.bits) - 1);
      double a = from_bits(s, pattern);
      double b = from_bits(s, pattern + 1);
      if (!std::isfinite(a) || !std::isfinite(b)) { continue; }
      double middle = (a + b) / 2;
      for (double v : {a, middle, std::nextafter(middle, INFINITY), std::nextafter(middle, -INFINITY), middle * (1 + 0x1p-22), middle * (1 - 0x1p-22), middle * (1 + 0x1p-30)}) { add(v); }
    }
  }
  for (int k = 0; k < 2000; ++k) { bits.push_back(t.bits == 32 ? random() >> 32U : random()); }
  if (t.is_real()) { for (double v : {0.0, -0.0, 1e300, -1e300, 3.4028235e38, 3.4028236e38, 65519.9, 65520.0, 1e-45, 1e-300, 5e-324, double(INFINITY), -double(INFINITY), double(NAN), 1.4142135623730950, 1.4142135623730951}) { add(v); } }
  while (bits.size() % 16 != 0) { bits.push_back(0); }
  Tensor out = zeros(t, {static_cast<int64_t>(bits.size())});
  for (size_t i = 0; i < bits.size(); ++i) { set_bits(out, static_cast<int64_t>(i), bits[i]); }
  return out;
}

/// Pairs: all of them for 8 bits.
auto pairs_of(DataType t) -> std::pair<Tensor, Tensor> {
  const int64_t count = 65536;
  Tensor a = zeros(t, {count});
  Tensor b = zeros(t, {count});
  std::mt19937_64 random(t.bits + 1);
  for (int64_t i = 0; i < count; ++i) {
    if (t.is_bool() || t.bits == 8) {
      set_bits(a, i, static_cast<uint64_t>(t.is_bool() ? i & 1 : i & 255));
      set_bits(b, i, static_cast<uint64_t>(t.is_bool() ? (i >> 1) & 1 : i >> 8));
    } else if (t.is_real() && i % 2 == 0) {
      a.set(i, static_cast<double>(static_cast<int64_t>(random() % 2001) - 1000) / 64);
      b.set(i, static_cast<double>(static_cast<int64_t>(random() % 2001) - 1000) / 64);
    } else {
      set_bits(a, i, random() >> (64U - t.bits));
      set_bits(b, i, random() >> (64U - t.bits));
    }
  }
  return {std::move(a), std::move(b)};
}

struct Output { Buffer buffer; Tensor ours; Tensor expected; };

auto output(const std::string& name, DataType t, int64_t count) -> Output { return {buffer(name.c_str(), t, count), zeros(t, {count}), zeros(t, {count})}; }

/// Runs the function compiled and interpreted. `only` selects the elements of an output to compare.
void check_same(const std::vector<std::pair<Buffer, const Tensor*>>& inputs, std::vector<Output>& outputs, const Stmt& body, int level,
                const std::function<bool(size_t, int64_t)>& only) {
  std::vector<Buffer> buffers;
  std::vector<runtime::Value> values;
  std::vector<interp::Argument> arguments;
  for (const auto& [b, tensor] : inputs) {
    buffers.push_back(b);
    values.emplace_back(tensor);
    arguments.emplace_back(tensor->view());
  }
  for (const Output& o : outputs) {
    buffers.push_back(o.buffer);
    values.emplace_back(&o.ours);
    arguments.emplace_back(o.expected.view());
  }
  PrimFunc func = function(buffers, body);
  IRModule module = module_of(func);
  run(func, values, {.opt_level = level});
  auto ran = interp::interpret(module, module->functions[0].first, arguments);
  if (!ran.ok()) { FAIL(text_of(ran.diagnostics())); }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Output& o = outputs[k];
    int64_t wrong = 0;
    for (int64_t i = 0; i < o.ours.count(); ++i) {
      if (bits_of(o.ours, i) == bits_of(o.expected, i) || !only(k, i)) { continue; }
      bool both_nan = o.ours.dtype().is_real() && std::isnan(o.ours.get(i)) && std::isnan(o.expected.get(i));
      if (both_nan || wrong++ > 0) { continue; }
      std::string operands;
      for (const auto& [b, tensor] : inputs) { operands += fmt::format(" {} = {} (0x{:x})", b->name.str(), tensor->get(i), bits_of(*tensor, i)); }
      FAIL_CHECK(o.buffer->name.str() << " of" << operands << ": compiled " << o.ours.get(i) << ", interpreted " << o.expected.get(i));
    }
    if (wrong > 0) { UNSCOPED_INFO(wrong << " elements"); }
  }
}

auto loop_over(int64_t count, int lanes, const std::function<Stmt(const Expr&)>& body) -> Stmt {
  Var i = var("i");
  return loop(i, count / lanes, body(lanes == 1 ? Expr(i) : ramp(i * int_imm(lanes), lanes)));
}

}  // namespace

TEST_CASE("casts from every type to every type are the interpreter's") {
  for (DataType from : all_types()) {
    Tensor source = values_of(from);
    for (int lanes : {1, 16}) {
      INFO("from " << from.str() << ", " << lanes << " lanes");
      Buffer a = buffer("A", from, source.count());
      std::vector<Output> outputs;
      std::vector<Stmt> loops;
      for (DataType to : all_types()) {
        outputs.push_back(output("to_" + to.str(), to, source.count()));
        const Buffer& b = outputs.back().buffer;
        loops.push_back(loop_over(source.count(), lanes, [&](const Expr& index) { return put(b, index, make<Cast>(to.with_lanes(lanes), at(a, index))); }));
      }
      check_same({{a, &source}}, outputs, seq(loops), lanes == 1 ? 0 : 2, [&](size_t k, int64_t i) {
        DataType to = outputs[k].ours.dtype();
        if (!from.is_real() || !to.is_integral() || to.is_bool()) { return true; }
        // Conversions out of an integer's range are undefined.
        double v = std::trunc(source.get(i));
        double low = to.is_uint() ? 0 : -std::ldexp(1.0, to.bits - 1);
        return v >= low && v < std::ldexp(1.0, to.is_uint() ? to.bits : to.bits - 1);
      });
    }
  }
}

TEST_CASE("arithmetic on every type is the interpreter's") {
  for (DataType t : all_types()) {
    if (t.is_bool()) { continue; }
    auto [x, y] = pairs_of(t);
    const bool is_int = t.is_integral();
    if (is_int) {   // the divisors
      for (int64_t i = 0; i < y.count(); ++i) {
        if (bits_of(y, i) == 0 || (t.is_int() && y.get(i) == -1)) { set_bits(y, i, 3); }
      }
    }
    for (int lanes : {1, 16}) {
      INFO(t.str() << ", " << lanes << " lanes");
      Buffer a = buffer("A", t, x.count());
      Buffer b = buffer("B", t, y.count());
      std::vector<Output> outputs;
      std::vector<Stmt> loops;
      auto add = [&](const std::string& name, DataType to, const std::function<Expr(Expr, Expr)>& value) {
        outputs.push_back(output(name, to, x.count()));
        const Buffer& c = outputs.back().buffer;
        loops.push_back(loop_over(x.count(), lanes, [&](const Expr& index) { return put(c, index, value(at(a, index), at(b, index))); }));
      };
      DataType bools = DataType::bool_();
      add("sum", t, [](Expr p, Expr q) { return make<Add>(p, q); });
      add("difference", t, [](Expr p, Expr q) { return make<Sub>(p, q); });
      add("product", t, [](Expr p, Expr q) { return make<Mul>(p, q); });
      add("quotient", t, [](Expr p, Expr q) { return make<Div>(p, q); });
      add("rest", t, [](Expr p, Expr q) { return make<Mod>(p, q); });
      add("min", t, [](Expr p, Expr q) { return make<Min>(p, q); });
      add("max", t, [](Expr p, Expr q) { return make<Max>(p, q); });
      add("less", bools, [](Expr p, Expr q) { return make<LT>(p, q); });
      add("equal", bools, [](Expr p, Expr q) { return make<EQ>(p, q); });
      add("floordiv", t, [](Expr p, Expr q) { return make<FloorDiv>(p, q); });
      add("floormod", t, [](Expr p, Expr q) { return make<FloorMod>(p, q); });
      if (!is_int) {
        add("root", t, [&](const Expr& p, const Expr&) { return intrinsic(t.with_lanes(lanes), "sqrt", {p}); });
        add("floor", t, [&](const Expr& p, const Expr&) { return intrinsic(t.with_lanes(lanes), "floor", {p}); });
        add("magnitude", t, [&](const Expr& p, const Expr&) { return intrinsic(t.with_lanes(lanes), "fabs", {p}); });
        add("nan", bools, [&](const Expr& p, const Expr&) { return intrinsic(bools.with_lanes(lanes), "isnan", {p}); });
        add("chosen", t, [&](const Expr& p, const Expr& q) { return make<Select>(make<LT>(p, q), p, make<Broadcast>(float_imm(1.5, t), int_imm(lanes))); });
      }
      if (lanes == 1 && !is_int) {
        outputs.pop_back();
        loops.pop_back();
        add("chosen", t, [&](const Expr& p, const Expr& q) { return make<Select>(make<LT>(p, q), p, float_imm(1.5, t)); });
      }
      check_same({{a, &x}, {b, &y}}, outputs, seq(loops), lanes == 1 ? 0 : 2, [](size_t, int64_t) { return true; });
    }
  }
}

TEST_CASE("smallest and largest values of short types survive, and larger values do not") {
  for (DataType t : short_types) {
    INFO(t.str());
    double largest = max_value(t).as<FloatImm>()->value;
    double least = min_value(t).as<FloatImm>()->value;
    if (t.is_bfloat16()) {
      CHECK(largest == -least);
    } else {
      CHECK(round_to(t, largest) == largest);
      CHECK(round_to(t, least) == least);
      double beyond = round_to(t, largest * 2);
      CHECK((!std::isfinite(beyond) || beyond == largest));
      CHECK((t.code == TypeCode::Float8E8M0FNU ? least > 0 : least == -largest));
    }
  }
}

TEST_CASE("products of float8 summed in float32, constants and scalars of short types") {
  for (DataType t : short_types) {
    INFO(t.str());
    Buffer a = buffer("A", t, 64);
    Buffer b = buffer("B", t, 64);
    Buffer c = buffer("C", f32, 1);
    Buffer d = buffer("D", t, 64);
    Var i = var("i");
    Var j = var("j");
    Var scale = var("scale", t);
    Tensor x = random(t, {64}, 1);
    Tensor y = random(t, {64}, 2);
    Tensor z = zeros(f32, {1});
    Tensor w = zeros(t, {64});
    Expr product = make<Cast>(f32, at(a, i)) * make<Cast>(f32, at(b, i));
    Stmt sum = loop(i, 64, put(c, int_imm(0), at(c, int_imm(0)) + product));
    Stmt scaled = loop(j, 64, put(d, j, make<Max>(make<Mul>(at(a, j), scale), float_imm(0.25, t))));
    run(function({a, b, c, d}, seq({sum, scaled}), {scale}), {&x, &y, &z, &w, 2.0});
    double expected = 0;
    for (int k = 0; k < 64; ++k) {
      expected += x.get(k) * y.get(k);
      CHECK(w.get(k) == std::max(round_to(t, x.get(k) * 2), 0.25));
    }
    CHECK(std::fabs(z.as<float>()[0] - expected) <= 1e-4 * (1 + std::fabs(expected)));
  }
}
