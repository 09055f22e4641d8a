// Memory, conversions: see tensor.h.
#include "runtime/tensor.h"
#include "codegen/interface.h"
#include "ir/reals.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/saturate.h"
#include "support/text.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numbers>

namespace loopsmith::runtime {
namespace {

constexpr uint64_t huge_page = 2U << 20U;

auto element_count(const std::vector<int64_t>& shape) -> int64_t {
  int64_t out = 1;
  for (int64_t dim : shape) { out = saturating_mul(out, dim); }
  return out;
}

struct Random {
  uint64_t state;
  auto next() -> uint64_t {   // splitmix64
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  auto uniform() -> double { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
};

}  // namespace

auto byte_count(DataType dtype, const std::vector<int64_t>& shape) -> std::optional<uint64_t> {
  uint64_t out = static_cast<uint64_t>(dtype.element_bytes()) * dtype.lanes;
  for (int64_t dim : shape) {
    if (dim < 0) { return {}; }
    if (__builtin_mul_overflow(out, static_cast<uint64_t>(dim), &out) || out > (uint64_t(1) << 46U)) { return {}; }
  }
  return out;
}

auto has_tensors(DataType t) -> bool {
  if (t.lanes != 1 || t.scalable) { return false; }
  if (t.is_bool()) { return true; }
  if (is_short_real(t)) { return t.bits % 8 == 0; }
  if (t.is_float()) { return t.bits == 16 || t.bits == 32 || t.bits == 64; }
  return t.is_integral() && (t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64);
}

auto half_to_float(uint16_t bits) -> float {
  uint32_t sign = uint32_t(bits & 0x8000U) << 16U;
  uint32_t exponent = (bits >> 10U) & 0x1fU;
  uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 31) { return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13U)); }
  if (exponent == 0) {
    float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23U) | (mantissa << 13U));
}

auto float_to_half(float value) -> uint16_t {
  auto bits = std::bit_cast<uint32_t>(value);
  auto sign = static_cast<uint16_t>((bits >> 16U) & 0x8000U);
  uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) { return static_cast<uint16_t>(sign | 0x7e00U); }
  if (magnitude >= 0x477ff000U) { return static_cast<uint16_t>(sign | 0x7c00U); }   // rounds to 65536 or more
  if (magnitude < 0x38800000U) {
    // Below the normal range: adding 0.5 aligns the last place with 2^-24, and rounds.
    float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000U));
  }
  uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13U) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13U));
}

auto bfloat_to_float(uint16_t bits) -> float { return std::bit_cast<float>(uint32_t(bits) << 16U); }

auto float_to_bfloat(float value) -> uint16_t {
  auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) { return static_cast<uint16_t>((bits | 0x400000U) >> 16U); }
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(other.dtype_), shape_(std::move(other.shape_)), data_(std::exchange(other.data_, nullptr)) {}

auto Tensor::operator=(Tensor&& other) noexcept -> Tensor& {
  std::swap(dtype_, other.dtype_);
  std::swap(shape_, other.shape_);
  std::swap(data_, other.data_);
  return *this;
}

Tensor::~Tensor() { std::free(data_); }

auto Tensor::zeros(DataType dtype, std::vector<int64_t> shape) -> Result<Tensor> {
  auto bytes = byte_count(dtype, shape);
  std::string what = fmt::format("a tensor `{}` ({})", dtype.str(), fmt::join(shape, ", "));
  auto too_large = [&](const std::string& size) {
    return error(Code::OutOfMemory).arg("what", what).arg("bytes", size).arg("limit", "the machine has").remedy("choose smaller sizes with `--arg`");
  };
  if (!bytes) { return too_large("more than 64 TiB"); }
  if (!has_tensors(dtype)) {
    const bool is_short = dtype.bits % 8 != 0 && !dtype.is_bool();
    std::string why = is_short ? "their elements are not whole bytes" : "elements of a tensor are single numbers";
    auto refused = error(Code::InterpArgument).arg("name", fmt::format("{} ({})", dtype.str(), fmt::join(shape, ", "))).arg("reason", because(Why::NoSuchTensor).arg("cause", why).text());
    if (!is_short) { return std::move(refused); }
    return std::move(refused).remedy("declare the parameter with elements of 8 bits");
  }
  uint64_t align = *bytes >= huge_page ? huge_page : 64;
  uint64_t size = std::max<uint64_t>((*bytes + align - 1) / align * align, align);
  Tensor out;
  out.data_ = std::aligned_alloc(align, size);
  if (out.data_ == nullptr) { return too_large(bytes_text(static_cast<double>(*bytes))); }
#ifdef MADV_HUGEPAGE
  if (align == huge_page) { (void)madvise(out.data_, size, MADV_HUGEPAGE); }
#endif
  std::memset(out.data_, 0, size);
  out.dtype_ = dtype;
  out.shape_ = std::move(shape);
  return out;
}

auto Tensor::random(DataType dtype, std::vector<int64_t> shape, uint64_t seed, Fill fill) -> Result<Tensor> {
  LOOPSMITH_TRY(out, zeros(dtype, std::move(shape)));
  out.fill_random(seed, fill);
  return out;
}

auto Tensor::copy() const -> Result<Tensor> {
  LOOPSMITH_TRY(out, zeros(dtype_, shape_));
  std::memcpy(out.data_, data_, bytes());
  return out;
}

auto Tensor::count() const -> int64_t { return data_ == nullptr ? 0 : element_count(shape_); }
auto Tensor::bytes() const -> uint64_t { return static_cast<uint64_t>(count()) * static_cast<uint64_t>(dtype_.element_bytes()); }
void Tensor::fill_zero() { std::memset(data_, 0, bytes()); }

void Tensor::fill_random(uint64_t seed, Fill fill) {
  Random random{seed * 0x2545f4914f6cdd1dULL + 0x9e3779b97f4a7c15ULL};
  const int64_t n = count();
  if (dtype_.code == TypeCode::Float8E8M0FNU) {   // powers of two around 1
    for (int64_t i = 0; i < n; ++i) { set(i, std::ldexp(1.0, static_cast<int>((random.next() >> 32U) % 7) - 3)); }
    return;
  }
  if (dtype_.is_real() && fill == Fill::Normal) {
    for (int64_t i = 0; i < n; i += 2) {   // Box and Muller
      double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
      double angle = 2 * std::numbers::pi * random.uniform();
      set(i, radius * std::cos(angle));
      if (i + 1 < n) { set(i + 1, radius * std::sin(angle)); }
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    uint64_t r = random.next() >> 32U;
    if (dtype_.is_bool()) { set(i, static_cast<double>(r & 1U)); }
    else if (dtype_.is_uint()) { set(i, static_cast<double>(r % 9)); }
    else { set(i, static_cast<double>(r % 17) - 8); }
  }
}

void Tensor::fill_range(int64_t first, int64_t last, uint64_t seed) {
  Random random{seed * 0x2545f4914f6cdd1dULL + 0x9e3779b97f4a7c15ULL};
  if (dtype_.bits < 64) { last = std::min(last, (int64_t(1) << (dtype_.bits - (dtype_.is_int() ? 1 : 0))) - 1); }
  const uint64_t choices = last >= first ? static_cast<uint64_t>(last - first) + 1 : 1;
  for (int64_t i = 0, n = count(); i < n; ++i) { set(i, static_cast<double>(first + static_cast<int64_t>((random.next() >> 1U) % choices))); }
}

auto Tensor::get(int64_t index) const -> double {
  auto at = [&]<class T>(T) { return static_cast<double>(static_cast<const T*>(data_)[index]); };
  if (dtype_.is_float() && dtype_.bits == 32) { return at(float{}); }
  if (dtype_.is_float() && dtype_.bits == 64) { return at(double{}); }
  if (dtype_.is_float()) { return half_to_float(static_cast<const uint16_t*>(data_)[index]); }
  if (dtype_.is_bfloat16()) { return bfloat_to_float(static_cast<const uint16_t*>(data_)[index]); }
  if (dtype_.is_real()) { return from_bits(dtype_, static_cast<const uint8_t*>(data_)[index]); }
  if (dtype_.is_int()) {
    switch (dtype_.bits) {
      case 8: return at(int8_t{});
      case 16: return at(int16_t{});
      case 32: return at(int32_t{});
      default: return at(int64_t{});
    }
  }
  switch (dtype_.bits) {
    case 1:
    case 8: return at(uint8_t{});
    case 16: return at(uint16_t{});
    case 32: return at(uint32_t{});
    default: return at(uint64_t{});
  }
}

void Tensor::set(int64_t index, double value) {
  auto put = [&]<class T>(T v) { static_cast<T*>(data_)[index] = v; };
  if (dtype_.is_float() && dtype_.bits == 32) { put(static_cast<float>(value)); }
  else if (dtype_.is_float() && dtype_.bits == 64) { put(value); }
  else if (dtype_.is_float()) { put(float_to_half(static_cast<float>(value))); }
  else if (dtype_.is_bfloat16()) { put(float_to_bfloat(static_cast<float>(value))); }
  else if (dtype_.is_real()) { put(static_cast<uint8_t>(to_bits(dtype_, value))); }
  else if (dtype_.is_bool()) { put(static_cast<uint8_t>(value != 0)); }
  else if (dtype_.is_int()) {
    switch (dtype_.bits) {
      case 8: put(static_cast<int8_t>(value)); break;
      case 16: put(static_cast<int16_t>(value)); break;
      case 32: put(static_cast<int32_t>(value)); break;
      default: put(static_cast<int64_t>(value)); break;
    }
  } else {
    switch (dtype_.bits) {
      case 8: put(static_cast<uint8_t>(value)); break;
      case 16: put(static_cast<uint16_t>(value)); break;
      case 32: put(static_cast<uint32_t>(value)); break;
      default: put(static_cast<uint64_t>(value)); break;
    }
  }
}

auto Tensor::dlpack() const -> DLTensor {
  auto code = static_cast<uint8_t>(codegen::dlpack_code(dtype_));
  uint8_t bits = dtype_.is_bool() ? 8 : dtype_.bits;
  return {.data = data_, .device = {1, 0}, .ndim = static_cast<int32_t>(shape_.size()), .dtype = {code, bits, 1},
          .shape = const_cast<int64_t*>(shape_.data()), .strides = nullptr, .byte_offset = 0};
}

auto Tensor::describe() const -> std::string { return fmt::format("{} ({}{})", dtype_.str(), fmt::join(shape_, ", "), shape_.size() == 1 ? "," : ""); }

auto compare(const Tensor& a, const Tensor& b, double relative, double absolute) -> Comparison {
  Comparison out;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    out.problem = fmt::format("{} cannot be compared with {}", a.describe(), b.describe());
    return out;
  }
  const int64_t count = a.count();
  for (int64_t i = 0; i < count; ++i) {
    double x = a.get(i);
    double y = b.get(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) { continue; }
    double distance = std::abs(x - y);
    if (std::isnan(distance)) { distance = std::numeric_limits<double>::infinity(); }
    out.largest_absolute = std::max(out.largest_absolute, distance);
    if (y != 0) { out.largest_relative = std::max(out.largest_relative, distance / std::max(std::abs(y), 1e-30)); }
    if (!(distance <= absolute + relative * std::abs(y))) {
      if (out.different++ == 0) { out.first = i; }
    }
  }
  return out;
}

}  // namespace loopsmith::runtime
