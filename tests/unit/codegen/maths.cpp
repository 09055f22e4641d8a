// The accuracy of compiled mathematics, compared with libm in double precision, infinities, zeros and NaNs included.
// Covers every exponent with a step through the mantissas, about 260,000 arguments per function.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/unit/codegen/build.h"

using namespace loopsmith;
using namespace loopsmith::test;

namespace {

/// The distance in units in the last place of the exact result as a float.
auto ulps(float got, double exact) -> double {
  if (std::isnan(got) && std::isnan(exact)) { return 0; }
  if (static_cast<float>(exact) == got) { return 0; }
  if (std::isnan(got) || std::isnan(exact) || std::isinf(got) || std::isinf(static_cast<float>(exact))) { return 1e9; }
  int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::abs(static_cast<double>(got) - exact) / std::ldexp(1.0, exponent - 23);
}

struct Case {
  const char* name;
  std::function<double(double)> exact;
  double bound;       // ulps
};

}  // namespace

TEST_CASE("mathematics of float32, vector and scalar") {
  std::vector<float> arguments = {0.0F, -0.0F, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN(), 88.72283F, 88.72284F, -87.33655F, -103.9F, -104.5F, 1.0F, -1.0F, 3.9999F, 4.0F};
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32U); bits += 16381) {
    auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    arguments.push_back(value);
  }
  while (arguments.size() % 64 != 0) { arguments.push_back(0.5F); }
  auto n = static_cast<int64_t>(arguments.size());
  Tensor x = zeros(f32, {n});
  std::copy(arguments.begin(), arguments.end(), x.as<float>().begin());
  const Case cases[] = {
      {"exp", [](double v) { return std::exp(v); }, 2},
      {"log", [](double v) { return std::log(v); }, 2},
      {"tanh", [](double v) { return std::tanh(v); }, 4},
      {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }, 4},
      {"erf", [](double v) { return std::erf(v); }, 4},
      {"sqrt", [](double v) { return std::sqrt(v); }, 0.5},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }, 1.6},
      {"sin", [](double v) { return std::sin(v); }, 1},
      {"floor", [](double v) { return std::floor(v); }, 0},
      {"exp2", [](double v) { return std::exp2(v); }, 1},
  };
  for (const Case& c : cases) {
    for (int lanes : {1, 8, 16, 64}) {
      Buffer a = buffer("A", f32, n);
      Buffer b = buffer("B", f32, n);
      Var i = var("i");
      Expr index = lanes == 1 ? Expr(i) : ramp(i * int_imm(lanes), lanes);
      Tensor y = zeros(f32, {n});
      run(function({a, b}, loop(i, n / lanes, put(b, index, intrinsic(f32.with_lanes(lanes), c.name, {at(a, index)})))), {&x, &y});
      double worst = 0;
      float where = 0;
      for (int64_t k = 0; k < n; ++k) {
        float v = x.as<float>()[static_cast<size_t>(k)];
        double exact = c.exact(static_cast<double>(v));
        double off = ulps(y.as<float>()[static_cast<size_t>(k)], exact);
        // 1 / (1 + exp(-x)) for very negative x: exp overflows, and the result is below the normal range.
        if (std::string_view(c.name) == "sigmoid" && v < -87) { off = std::abs(y.as<float>()[static_cast<size_t>(k)] - exact) < 1e-37 ? 0 : 1e9; }
        if (off > worst) { worst = off; where = v; }
      }
      INFO(c.name << ", lanes " << lanes << ": " << worst << " ulps at " << where);
      CHECK(worst <= c.bound + 0.01);
    }
  }
}

TEST_CASE("mathematics of float32 for GPUs, which have no C library") {
  std::vector<float> arguments = {0.0F, -0.0F, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1.0F, -1.0F, 2.0F, -3.0F, 0.5F};
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32U); bits += 65521) { arguments.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits))); }
  const auto n = static_cast<int64_t>(arguments.size());
  Tensor x = zeros(f32, {n});
  std::copy(arguments.begin(), arguments.end(), x.as<float>().begin());
  const Case cases[] = {
      {"exp2", [](double v) { return std::exp2(v); }, 3},   {"exp10", [](double v) { return std::pow(10.0, v); }, 4}, {"expm1", [](double v) { return std::expm1(v); }, 5},
      {"log2", [](double v) { return std::log2(v); }, 4},   {"log10", [](double v) { return std::log10(v); }, 4},     {"log1p", [](double v) { return std::log1p(v); }, 5},
      {"sinh", [](double v) { return std::sinh(v); }, 7},   {"cosh", [](double v) { return std::cosh(v); }, 7},       {"sin", [](double v) { return std::sin(v); }, 1},
      {"cos", [](double v) { return std::cos(v); }, 1},     {"tan", [](double v) { return std::tan(v); }, 2},
  };
  auto compute = [&](const char* op, const std::vector<Expr>& more) {
    Buffer a = buffer("A", f32, n);
    Buffer b = buffer("B", f32, n);
    Var i = var("i");
    std::vector<Expr> args = {at(a, Expr(i))};
    args.insert(args.end(), more.begin(), more.end());
    Tensor y = zeros(f32, {n});
    run(compiled(function({a, b}, loop(i, n, put(b, Expr(i), intrinsic(f32, op, args)))), {.without_c_library = true}), {&x, &y});
    return y;
  };
  auto check = [&](const std::string& name, const Tensor& y, const std::function<double(double)>& exact, double bound, double most) {
    double worst = 0;
    float where = 0;
    for (int64_t k = 0; k < n; ++k) {
      const float v = x.as<float>()[static_cast<size_t>(k)];
      if (std::isfinite(v) && std::abs(v) > most) { continue; }
      const double off = ulps(y.as<float>()[static_cast<size_t>(k)], exact(static_cast<double>(v)));
      if (off > worst) { worst = off; where = v; }
    }
    INFO(name << ": " << worst << " ulps at " << where);
    CHECK(worst <= bound + 0.01);
  };
  for (const Case& c : cases) {
    const bool is_periodic = std::string_view(c.name) == "sin" || std::string_view(c.name) == "cos" || std::string_view(c.name) == "tan";
    check(c.name, compute(c.name, {}), c.exact, c.bound, is_periodic ? 1e5 : std::numeric_limits<double>::infinity());
  }
  for (double exponent : {2.5, -0.5, 3.0, -3.0, 0.0, 1.0, 40.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    check("pow to " + std::to_string(exponent), compute("pow", {float_imm(exponent)}), [&](double v) { return std::pow(v, exponent); }, 1, std::numeric_limits<double>::infinity());
  }
  auto refused = runtime::JitModule::compile(module_of(function({buffer("A", f32, 1)}, put(buffer("A", f32, 1), int_imm(0), intrinsic(f32, "atan", {float_imm(1)})))), target::host(), {.without_c_library = true});
  CHECK_FALSE(refused.ok());
}

TEST_CASE("mathematics of float64 and float16 go through libm and float32") {
  for (DataType t : {f64, f16}) {
    for (const char* op : {"exp", "log", "tanh", "sigmoid", "erf", "sin", "pow"}) {
      Buffer a = buffer("A", t, 16);
      Buffer b = buffer("B", t, 16);
      Tensor x = random(t, {16}, 3);
      Tensor y = zeros(t, {16});
      Expr v = at(a, ramp(int_imm(0), 16));
      std::string_view name = op;
      std::vector<Expr> args = {v};
      if (name == "pow") { args = {intrinsic(t.with_lanes(16), "fabs", {v}), splat(constant(t, 2.5), 16)}; }
      run(function({a, b}, put(b, ramp(int_imm(0), 16), intrinsic(t.with_lanes(16), op, args))), {&x, &y});
      for (int k = 0; k < 16; ++k) {
        double u = x.get(k);
        double exact = name == "exp" ? std::exp(u) : name == "log" ? std::log(u) : name == "tanh" ? std::tanh(u) : name == "sigmoid" ? 1 / (1 + std::exp(-u))
                     : name == "erf" ? std::erf(u) : name == "sin" ? std::sin(u) : std::pow(std::abs(u), 2.5);
        INFO(op << " of " << u);
        if (std::isnan(exact)) { CHECK(std::isnan(y.get(k))); } else { CHECK(y.get(k) == Approx(exact).epsilon(t == f64 ? 1e-14 : 1e-3)); }
      }
    }
  }
}
