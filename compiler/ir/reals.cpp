// Formats and conversions: see reals.h.
#include "ir/reals.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace loopsmith {

auto real_format(DataType t) -> RealFormat {
  switch (t.code) {
    case TypeCode::Float: return {5, 10, 15, true, false, false, true};    // float16; wider types are not converted here
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

auto RealFormat::largest() const -> uint64_t {
  uint64_t ones = (uint64_t{1} << mantissa) - 1;
  int top = (1 << exponent) - 1;
  return (static_cast<uint64_t>(has_infinity ? top - 1 : top) << mantissa) | (finite_nan ? ones - 1 : ones);
}
auto RealFormat::nan() const -> uint64_t {
  uint64_t top = ((uint64_t{1} << exponent) - 1) << mantissa;
  if (unsigned_zero) { return uint64_t{1} << (exponent + mantissa); }
  if (finite_nan) { return top | ((uint64_t{1} << mantissa) - 1); }
  return has_nan ? top | (uint64_t{1} << (mantissa - 1)) : largest();
}
auto RealFormat::overflow() const -> uint64_t {
  if (has_infinity) { return ((uint64_t{1} << exponent) - 1) << mantissa; }
  return has_nan ? nan() : largest();
}

namespace {

auto decode(const RealFormat& f, uint64_t bits) -> double {
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

auto encode(const RealFormat& f, double value) -> uint64_t {
  uint64_t sign = uint64_t{std::signbit(value)} << (f.exponent + f.mantissa);
  if (std::isnan(value)) { return f.has_nan && !f.unsigned_zero ? f.nan() | sign : f.nan(); }
  uint64_t overflow = f.unsigned_zero ? f.overflow() : f.overflow() | sign;
  uint64_t zero = f.unsigned_zero ? 0 : sign;
  if (std::isinf(value)) { return overflow; }
  double magnitude = std::fabs(value);
  if (magnitude == 0) { return zero; }
  int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
  // Scales the value so that the last place is 1, then rounds to nearest even.
  auto rounded = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, f.mantissa - exponent)));
  if (rounded == 0) { return zero; }
  uint64_t hidden = uint64_t{1} << f.mantissa;
  if (rounded >= 2 * hidden) {
    rounded >>= 1;
    ++exponent;
  }
  uint64_t pattern = rounded < hidden ? rounded : (static_cast<uint64_t>(exponent + f.bias) << f.mantissa) | (rounded - hidden);
  return pattern > f.largest() ? overflow : pattern | sign;
}

}  // namespace

auto to_bits(DataType dtype, double value) -> uint64_t {
  if (dtype.code == TypeCode::Float8E8M0FNU) {
    // The power of two that is nearest by ratio; there is no sign and no zero. NaN has a pattern; infinity has none and becomes the largest value.
    if (std::isnan(value) || value <= 0) { return value <= 0 ? 0 : 255; }
    if (std::isinf(value)) { return 254; }
    int exponent = 0;
    if (std::frexp(value, &exponent) < 0x1.6a09e667f3bcdp-1) { --exponent; }   // below the square root of 1/2
    return static_cast<uint64_t>(std::min(254, std::max(0, exponent + 127)));
  }
  if (dtype.is_float() && dtype.bits == 64) { return std::bit_cast<uint64_t>(value); }
  if (dtype.is_float() && dtype.bits == 32) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
  return encode(real_format(dtype), value);
}

auto from_bits(DataType dtype, uint64_t bits) -> double {
  if (dtype.code == TypeCode::Float8E8M0FNU) {
    return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
  }
  if (dtype.is_float() && dtype.bits == 64) { return std::bit_cast<double>(bits); }
  if (dtype.is_float() && dtype.bits == 32) { return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))); }
  return decode(real_format(dtype), bits);
}

auto round_to(DataType dtype, double value) -> double {
  if (dtype.is_float() && dtype.bits == 64) { return value; }
  if (dtype.is_float() && dtype.bits == 32) { return static_cast<double>(static_cast<float>(value)); }
  return from_bits(dtype, to_bits(dtype, value));
}

}  // namespace loopsmith
