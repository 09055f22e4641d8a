// Short floating-point numbers, converted exactly: float16, bfloat16, the float8 family, float6 and float4. Formats after
// IEEE 754 and the OCP 8-bit floating point specification.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "interp/interp.h"

namespace loopsmith::interp {
namespace {

struct Format {
  int exponent;         // bits
  int mantissa;         // bits
  int bias;
  bool has_infinity;
  bool finite_nan;      // FN: the all-ones pattern is the only NaN (no infinities)
  bool unsigned_zero;   // UZ: the negative zero pattern is the only NaN
  bool has_nan;
};

auto format_of(DataType t) -> Format {
  switch (t.code) {
    case TypeCode::Float: return {5, 10, 15, true, false, false, true};    // float16; wider ones are not asked for
    case TypeCode::BFloat: return {8, 7, 127, true, false, false, true};
    case TypeCode::Float8E4M3FN: return {4, 3, 7, false, true, false, true};
    case TypeCode::Float8E5M2: return {5, 2, 15, true, false, false, true};
    case TypeCode::Float8E3M4: return {3, 4, 3, true, false, false, true};
    case TypeCode::Float8E4M3: return {4, 3, 7, true, false, false, true};
    case TypeCode::Float8E4M3B11FNUZ: return {4, 3, 11, false, false, true, true};
    case TypeCode::Float8E4M3FNUZ: return {4, 3, 8, false, false, true, true};
    case TypeCode::Float8E5M2FNUZ: return {5, 2, 16, false, false, true, true};
    case TypeCode::Float6E2M3FN: return {2, 3, 1, false, false, false, false};
    case TypeCode::Float6E3M2FN: return {3, 2, 3, false, false, false, false};
    case TypeCode::Float4E2M1FN: return {2, 1, 1, false, false, false, false};
    default: return {11, 52, 1023, true, false, false, true};
  }
}

auto decode(const Format& f, uint64_t bits) -> double {
  int width = 1 + f.exponent + f.mantissa;
  bool negative = (bits >> (width - 1)) & 1;
  auto exponent = static_cast<int>((bits >> f.mantissa) & ((1U << f.exponent) - 1));
  uint64_t mantissa = bits & ((uint64_t{1} << f.mantissa) - 1);
  int top = (1 << f.exponent) - 1;
  if (f.unsigned_zero && negative && exponent == 0 && mantissa == 0) { return std::numeric_limits<double>::quiet_NaN(); }
  if (f.finite_nan && exponent == top && mantissa == (uint64_t{1} << f.mantissa) - 1) { return std::numeric_limits<double>::quiet_NaN(); }
  if (f.has_infinity && exponent == top) {
    double special = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return negative ? -special : special;
  }
  double value = exponent == 0 ? std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa)
                               : std::ldexp(static_cast<double>(mantissa + (uint64_t{1} << f.mantissa)), exponent - f.bias - f.mantissa);
  return negative ? -value : value;
}

auto encode(const Format& f, double value) -> uint64_t {
  int width = 1 + f.exponent + f.mantissa;
  uint64_t sign = uint64_t{std::signbit(value)} << (width - 1);
  int top = (1 << f.exponent) - 1;
  uint64_t mantissa_ones = (uint64_t{1} << f.mantissa) - 1;
  uint64_t nan = f.unsigned_zero ? uint64_t{1} << (width - 1)
                 : f.finite_nan  ? (static_cast<uint64_t>(top) << f.mantissa) | mantissa_ones
                                 : (static_cast<uint64_t>(top) << f.mantissa) | (uint64_t{1} << (f.mantissa - 1));
  // The largest finite pattern.
  int last_exponent = f.has_infinity ? top - 1 : top;
  uint64_t last_mantissa = f.finite_nan ? mantissa_ones - 1 : mantissa_ones;
  uint64_t largest = (static_cast<uint64_t>(last_exponent) << f.mantissa) | last_mantissa;
  if (std::isnan(value)) { return f.has_nan ? nan | (f.unsigned_zero || f.finite_nan ? (f.finite_nan ? sign : 0) : sign) : largest; }
  double magnitude = std::fabs(value);
  uint64_t overflow = f.has_infinity ? static_cast<uint64_t>(top) << f.mantissa : f.has_nan ? (nan & ~(uint64_t{1} << (width - 1))) : largest;
  if (f.unsigned_zero) { overflow = nan; }
  if (std::isinf(value)) { return f.unsigned_zero ? overflow : overflow | sign; }
  if (magnitude == 0) { return f.unsigned_zero ? 0 : sign; }
  int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
  // Scaled so that the last place is 1, then rounded to nearest even.
  double scaled = std::ldexp(magnitude, f.mantissa - exponent);
  auto rounded = static_cast<uint64_t>(std::nearbyint(scaled));
  if (rounded == 0) { return f.unsigned_zero ? 0 : sign; }
  uint64_t hidden = uint64_t{1} << f.mantissa;
  if (rounded >= 2 * hidden) {
    rounded >>= 1;
    ++exponent;
  }
  uint64_t pattern = rounded < hidden ? rounded : (static_cast<uint64_t>(exponent + f.bias) << f.mantissa) | (rounded - hidden);
  if (exponent + f.bias > last_exponent || pattern > largest) { return f.unsigned_zero ? overflow : overflow | sign; }
  return pattern | sign;
}

}  // namespace

auto to_bits(DataType dtype, double value) -> uint64_t {
  if (dtype.code == TypeCode::Float8E8M0FNU) {
    // A power of two; no sign, no zero.
    if (std::isnan(value) || value <= 0) { return value <= 0 ? 0 : 255; }
    int exponent = static_cast<int>(std::nearbyint(std::log2(value)));
    return static_cast<uint64_t>(std::min(254, std::max(0, exponent + 127)));
  }
  if (dtype.is_float() && dtype.bits == 64) { return std::bit_cast<uint64_t>(value); }
  if (dtype.is_float() && dtype.bits == 32) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
  return encode(format_of(dtype), value);
}

auto from_bits(DataType dtype, uint64_t bits) -> double {
  if (dtype.code == TypeCode::Float8E8M0FNU) {
    return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
  }
  if (dtype.is_float() && dtype.bits == 64) { return std::bit_cast<double>(bits); }
  if (dtype.is_float() && dtype.bits == 32) { return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))); }
  return decode(format_of(dtype), bits);
}

auto round_to(DataType dtype, double value) -> double {
  if (dtype.is_float() && dtype.bits == 64) { return value; }
  if (dtype.is_float() && dtype.bits == 32) { return static_cast<double>(static_cast<float>(value)); }
  return from_bits(dtype, to_bits(dtype, value));
}

}  // namespace loopsmith::interp
