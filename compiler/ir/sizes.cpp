// Numbers of elements: see sizes.h.
#include "ir/sizes.h"

#include <algorithm>
#include <limits>

#include "ir/ops.h"
#include "ir/strides.h"

namespace loopsmith {
namespace {

constexpr int64_t most_of_int32 = std::numeric_limits<int32_t>::max();

// total += a * b; false if the result overflows 63 bits.
auto add_product(int64_t& total, int64_t a, int64_t b) -> bool {
  int64_t term = 0;
  return !__builtin_mul_overflow(a, b, &term) && !__builtin_add_overflow(total, term, &total);
}

}  // namespace

auto known_product(const Array<Expr>& extents) -> std::optional<int64_t> {
  int64_t out = 1;
  for (const Expr& e : extents) {
    auto number = as_int(e);
    if (number && __builtin_mul_overflow(out, std::max<int64_t>(*number, 0), &out)) { return {}; }
  }
  return out;
}

auto largest_flat_index(const BufferNode& buffer) -> std::optional<int64_t> {
  int64_t last = 0;
  bool is_strided = !buffer.strides.empty() && buffer.strides.size() == buffer.shape.size();
  if (is_strided) {
    for (size_t d = 0; d < buffer.shape.size(); ++d) {
      int64_t extent = as_int(buffer.shape[d]).value_or(1);
      int64_t stride = as_int(buffer.strides[d]).value_or(1);
      if (!add_product(last, std::max<int64_t>(extent, 1) - 1, std::max<int64_t>(stride, 0))) { return {}; }
    }
  } else {
    auto elements = known_product(buffer.shape);
    if (!elements) { return {}; }
    last = std::max<int64_t>(*elements, 1) - 1;
  }
  int64_t offset = buffer.elem_offset ? as_int(buffer.elem_offset).value_or(0) : 0;
  if (!add_product(last, std::max<int64_t>(offset, 0), 1)) { return {}; }
  return last;
}

auto needs_wide_index(const BufferNode& buffer) -> bool {
  auto last = largest_flat_index(buffer);
  return !last || *last >= most_of_int32;
}

auto widened(Expr expr) -> Expr {
  DataType t = expr.dtype();
  return t.is_integral() && t.bits < 64 ? cast(t.is_int() ? t.with_bits(64) : DataType{TypeCode::Int, 64, t.lanes, t.scalable}, std::move(expr)) : expr;
}

auto product_of(const Array<Expr>& extents) -> Expr {
  const bool is_wide = known_product(extents).value_or(std::numeric_limits<int64_t>::max()) > most_of_int32;
  Expr out;
  for (const Expr& e : extents) {
    Expr extent = is_wide ? widened(e) : e;
    out = out ? mul(std::move(out), std::move(extent)) : std::move(extent);
  }
  return out ? out : int_imm(1);
}

}  // namespace loopsmith
