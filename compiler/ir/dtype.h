// Data types of TIR values: a kind of scalar, its width in bits, and a number of lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loopsmith {

enum class TypeCode : uint8_t {
  Int, UInt, Float, Handle, BFloat,
  Float8E4M3FN, Float8E5M2, Float8E3M4, Float8E4M3, Float8E4M3B11FNUZ, Float8E4M3FNUZ, Float8E5M2FNUZ, Float8E8M0FNU,
  Float6E2M3FN, Float6E3M2FN, Float4E2M1FN,
  Void,
};

/// `int32`, `float32x4`, `bool` (UInt of 1 bit), `handle`, `void`, `float32xvscalex4` (scalable: lanes count
/// multiples of vscale).
struct DataType {
  TypeCode code = TypeCode::Void;
  uint8_t bits = 0;
  uint16_t lanes = 1;
  bool scalable = false;

  static constexpr auto int_(int bits, int lanes = 1) -> DataType { return {TypeCode::Int, uint8_t(bits), uint16_t(lanes)}; }
  static constexpr auto uint(int bits, int lanes = 1) -> DataType { return {TypeCode::UInt, uint8_t(bits), uint16_t(lanes)}; }
  static constexpr auto float_(int bits, int lanes = 1) -> DataType { return {TypeCode::Float, uint8_t(bits), uint16_t(lanes)}; }
  static constexpr auto bfloat16(int lanes = 1) -> DataType { return {TypeCode::BFloat, 16, uint16_t(lanes)}; }
  static constexpr auto bool_(int lanes = 1) -> DataType { return uint(1, lanes); }
  static constexpr auto handle() -> DataType { return {TypeCode::Handle, 64, 1}; }
  static constexpr auto void_() -> DataType { return {TypeCode::Void, 0, 0}; }

  [[nodiscard]] constexpr auto is_int() const -> bool { return code == TypeCode::Int; }
  [[nodiscard]] constexpr auto is_uint() const -> bool { return code == TypeCode::UInt; }
  [[nodiscard]] constexpr auto is_bool() const -> bool { return code == TypeCode::UInt && bits == 1; }
  /// Signed or unsigned integers, including bool.
  [[nodiscard]] constexpr auto is_integral() const -> bool { return is_int() || is_uint(); }
  [[nodiscard]] constexpr auto is_float() const -> bool { return code == TypeCode::Float; }
  [[nodiscard]] constexpr auto is_bfloat16() const -> bool { return code == TypeCode::BFloat; }
  [[nodiscard]] constexpr auto is_float8() const -> bool {
    return code >= TypeCode::Float8E4M3FN && code <= TypeCode::Float8E8M0FNU;
  }
  /// Any format of real numbers.
  [[nodiscard]] constexpr auto is_real() const -> bool {
    return is_float() || is_bfloat16() || (code >= TypeCode::Float8E4M3FN && code <= TypeCode::Float4E2M1FN);
  }
  [[nodiscard]] constexpr auto is_handle() const -> bool { return code == TypeCode::Handle; }
  [[nodiscard]] constexpr auto is_void() const -> bool { return code == TypeCode::Void; }
  [[nodiscard]] constexpr auto is_scalar() const -> bool { return lanes == 1 && !scalable; }
  [[nodiscard]] constexpr auto is_vector() const -> bool { return lanes > 1 || scalable; }
  [[nodiscard]] constexpr auto element() const -> DataType { return {code, bits, uint16_t(is_void() ? 0 : 1)}; }
  [[nodiscard]] constexpr auto with_lanes(int n) const -> DataType { return {code, bits, uint16_t(n)}; }
  [[nodiscard]] constexpr auto with_bits(int n) const -> DataType { return {code, uint8_t(n), lanes, scalable}; }
  /// Bytes of one element as stored (bool takes one byte).
  [[nodiscard]] constexpr auto element_bytes() const -> int { return (bits + 7) / 8; }

  friend constexpr auto operator==(DataType, DataType) -> bool = default;

  /// "float32", "int8x16", "bool", "bfloat16", "e4m3_float8" and its family as TVM 0.19 spells them
  /// (recent spellings, "float8_e4m3fn", are read too), "handle", "void".
  [[nodiscard]] auto str() const -> std::string;
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<DataType>;
};

}  // namespace loopsmith
