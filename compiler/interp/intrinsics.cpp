// Tables of intrinsics: see intrinsics.h.
#include "interp/intrinsics.h"

#include <bit>
#include <algorithm>
#include <cmath>

namespace loopsmith::interp {
namespace {

struct RealRow { const char* name; size_t arity; RealFunction function; };
struct IntRow { const char* name; size_t arity; IntFunction function; };

// One line per function of one argument that <cmath> has by the same name.
#define SAME(name) {#name, 1, [](const double* a, DataType) { return std::name(a[0]); }}
constexpr RealRow reals[] = {
    SAME(exp), SAME(exp2), SAME(log), SAME(log2), SAME(log10), SAME(log1p), SAME(sqrt), SAME(sin), SAME(cos), SAME(tan), SAME(tanh),
    SAME(sinh), SAME(cosh), SAME(asin), SAME(acos), SAME(atan), SAME(asinh), SAME(acosh), SAME(atanh), SAME(floor), SAME(ceil),
    SAME(trunc), SAME(nearbyint), SAME(erf), SAME(fabs),
    {"abs", 1, [](const double* a, DataType) { return std::fabs(a[0]); }},
    {"exp10", 1, [](const double* a, DataType) { return std::pow(10.0, a[0]); }},
    {"rsqrt", 1, [](const double* a, DataType) { return 1 / std::sqrt(a[0]); }},
    {"round", 1, [](const double* a, DataType) { return std::round(a[0]); }},
    {"sigmoid", 1, [](const double* a, DataType) { return 1 / (1 + std::exp(-a[0])); }},
    {"pow", 2, [](const double* a, DataType) { return std::pow(a[0], a[1]); }},
    {"fmod", 2, [](const double* a, DataType) { return std::fmod(a[0], a[1]); }},
    {"atan2", 2, [](const double* a, DataType) { return std::atan2(a[0], a[1]); }},
    {"hypot", 2, [](const double* a, DataType) { return std::hypot(a[0], a[1]); }},
    // NaN as the exponent gives NaN; an exponent out of range gives 0 or infinity.
    {"ldexp", 2, [](const double* a, DataType) { return std::isnan(a[1]) ? a[1] : std::ldexp(a[0], static_cast<int>(std::clamp(a[1], -5000.0, 5000.0))); }},
    {"copysign", 2, [](const double* a, DataType) { return std::copysign(a[0], a[1]); }},
    {"nextafter", 2,
     [](const double* a, DataType t) {
       return t.bits == 32 ? static_cast<double>(std::nextafter(static_cast<float>(a[0]), static_cast<float>(a[1]))) : std::nextafter(a[0], a[1]);
     }},
    {"fma", 3, [](const double* a, DataType t) { return t.bits == 32 ? a[0] * a[1] + a[2] : std::fma(a[0], a[1], a[2]); }},
    {"max", 2, [](const double* a, DataType) { return std::fmax(a[0], a[1]); }},
    {"min", 2, [](const double* a, DataType) { return std::fmin(a[0], a[1]); }},
};
#undef SAME

constexpr RealRow predicates[] = {
    {"isnan", 1, [](const double* a, DataType) { return std::isnan(a[0]) ? 1.0 : 0.0; }},
    {"isinf", 1, [](const double* a, DataType) { return std::isinf(a[0]) ? 1.0 : 0.0; }},
    {"isfinite", 1, [](const double* a, DataType) { return std::isfinite(a[0]) ? 1.0 : 0.0; }},
};

auto bits_of(DataType t, int64_t v) -> uint64_t { return t.bits >= 64 ? static_cast<uint64_t>(v) : static_cast<uint64_t>(v) & ((uint64_t{1} << t.bits) - 1); }

/// `product / 2^shift`, rounded half up. A shift outside of 64 bits counts as the nearest inside, as in compiled code.
auto rounding_shift(__int128 product, int64_t shift) -> int64_t {
  shift = std::clamp<int64_t>(shift, 0, 63);
  return static_cast<int64_t>((product + ((static_cast<__int128>(1) << shift) >> 1)) >> shift);
}

constexpr IntRow ints[] = {
    {"shift_left", 2, [](const int64_t* a, DataType) { return a[1] < 0 || a[1] > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a[0]) << a[1]); }},
    {"shift_right", 2,
     [](const int64_t* a, DataType t) {
       if (a[1] < 0 || a[1] > 63) { return a[0] < 0 ? int64_t{-1} : int64_t{0}; }
       return t.is_uint() ? static_cast<int64_t>(bits_of(t, a[0]) >> a[1]) : a[0] >> a[1];
     }},
    {"bitwise_and", 2, [](const int64_t* a, DataType) { return a[0] & a[1]; }},
    {"bitwise_or", 2, [](const int64_t* a, DataType) { return a[0] | a[1]; }},
    {"bitwise_xor", 2, [](const int64_t* a, DataType) { return a[0] ^ a[1]; }},
    {"bitwise_not", 1, [](const int64_t* a, DataType) { return ~a[0]; }},
    {"abs", 1, [](const int64_t* a, DataType) { return a[0] < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a[0])) : a[0]; }},
    {"popcount", 1, [](const int64_t* a, DataType t) { return static_cast<int64_t>(std::popcount(bits_of(t, a[0]))); }},
    {"clz", 1, [](const int64_t* a, DataType t) { return static_cast<int64_t>(std::countl_zero(bits_of(t, a[0]))) - (64 - t.bits); }},
    // Fixed-point multiplication: x * y / 2^(q - s), rounded half up (TFLite's, as in TVM).
    {"q_multiply_shift", 4, [](const int64_t* a, DataType) { return rounding_shift(static_cast<__int128>(a[0]) * a[1], a[2] - a[3]); }},
    // (x, y, left, right, q, is left used, is right used): the same with separate shifts.
    {"q_multiply_shift_per_axis", 7,
     [](const int64_t* a, DataType) {
       __int128 x = a[5] ? static_cast<__int128>(a[0]) << std::clamp<int64_t>(a[2], 0, 62) : a[0];
       return rounding_shift(x * a[1], a[4] + (a[6] ? a[3] : 0));
     }},
    {"max", 2, [](const int64_t* a, DataType) { return a[0] > a[1] ? a[0] : a[1]; }},
    {"min", 2, [](const int64_t* a, DataType) { return a[0] < a[1] ? a[0] : a[1]; }},
};

}  // namespace

auto find_real_function(Name name, size_t arity) -> RealFunction {
  for (const RealRow& row : reals) {
    if (row.arity == arity && name == row.name) { return row.function; }
  }
  return nullptr;
}
auto find_real_predicate(Name name) -> RealFunction {
  for (const RealRow& row : predicates) {
    if (name == row.name) { return row.function; }
  }
  return nullptr;
}
auto find_int_function(Name name, size_t arity) -> IntFunction {
  for (const IntRow& row : ints) {
    if (row.arity == arity && name == row.name) { return row.function; }
  }
  return nullptr;
}

auto glsl_function(int64_t number) -> Name {
  static constexpr std::pair<int64_t, const char*> rows[] = {
      {1, "round"}, {2, "nearbyint"}, {3, "trunc"}, {4, "fabs"}, {5, "abs"}, {8, "floor"}, {9, "ceil"}, {13, "sin"}, {14, "cos"}, {15, "tan"}, {16, "asin"},
      {17, "acos"}, {18, "atan"}, {19, "sinh"}, {20, "cosh"}, {21, "tanh"}, {22, "asinh"}, {23, "acosh"}, {24, "atanh"}, {25, "atan2"}, {26, "pow"},
      {27, "exp"}, {28, "log"}, {29, "exp2"}, {30, "log2"}, {31, "sqrt"}, {32, "rsqrt"}, {37, "min"}, {40, "max"}, {50, "fma"}};
  for (auto [known, name] : rows) {
    if (known == number) { return Name(name); }
  }
  return {};
}

auto c_function_name(const std::string& symbol) -> std::string {
  if (symbol.size() > 1 && symbol.back() == 'f' && find_real_function(Name(symbol.substr(0, symbol.size() - 1)), 1)) {
    return symbol.substr(0, symbol.size() - 1);
  }
  return symbol;
}

}  // namespace loopsmith::interp
