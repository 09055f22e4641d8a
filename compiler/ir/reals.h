// Real numbers as bits: the format of every type of reals, and exact conversions, rounding to nearest even. Formats after IEEE 754, the OCP
// 8-bit floating point specification and the OCP microscaling formats. No arithmetic.
#pragma once

#include <cstdint>

#include "ir/dtype.h"

namespace loopsmith {

/// A sign, an exponent and a mantissa, in that order from the top; e8m0 has only an exponent.
struct RealFormat {
  int exponent;         // bits
  int mantissa;         // bits
  int bias;
  bool has_infinity;
  bool finite_nan;      // FN: the all-ones pattern is the only NaN (no infinities)
  bool unsigned_zero;   // UZ: the negative zero pattern is the only NaN
  bool has_nan;

  /// Patterns without the sign: the largest finite value, NaN (with the sign bit if `unsigned_zero`), and the result for a value
  /// beyond the largest.
  [[nodiscard]] auto largest() const -> uint64_t;
  [[nodiscard]] auto nan() const -> uint64_t;
  [[nodiscard]] auto overflow() const -> uint64_t;
};
[[nodiscard]] auto real_format(DataType dtype) -> RealFormat;

/// True for types of at most 16 bits other than float16, which processors and compilers support: bfloat16, and the kinds of float8, float6 and float4.
[[nodiscard]] constexpr auto is_short_real(DataType dtype) -> bool { return dtype.is_real() && !dtype.is_float(); }

/// The bits of an element of this type.
[[nodiscard]] auto to_bits(DataType dtype, double value) -> uint64_t;
[[nodiscard]] auto from_bits(DataType dtype, uint64_t bits) -> double;
/// The nearest value of that type.
[[nodiscard]] auto round_to(DataType dtype, double value) -> double;

}  // namespace loopsmith
