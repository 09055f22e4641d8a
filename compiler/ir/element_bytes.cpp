// Elements of buffers as bytes of memory: see element_bytes.h.
#include "ir/element_bytes.h"

#include "ir/ops.h"

namespace loopsmith {

auto bytes_of_element(const BufferNode& buffer) -> std::optional<int64_t> {
  const DataType type = buffer.dtype;
  if (type.scalable || type.is_void() || (type.bits % 8 != 0 && !type.is_bool())) { return {}; }
  return int64_t{type.element_bytes()} * type.lanes;
}

auto first_byte(const BufferNode& buffer, const std::vector<int64_t>& at) -> std::optional<int64_t> {
  auto size = bytes_of_element(buffer);
  auto offset = buffer.elem_offset ? as_int(buffer.elem_offset) : std::optional<int64_t>(0);
  if (!size || !offset || at.size() != buffer.shape.size()) { return {}; }
  const bool is_strided = buffer.strides.size() == at.size() && !at.empty();
  int64_t element = *offset, compact = 1;
  for (size_t d = at.size(); d-- > 0;) {
    auto stride = is_strided ? as_int(buffer.strides[d]) : std::optional(compact);
    int64_t step = 0;
    if (!stride || __builtin_mul_overflow(at[d], *stride, &step) || __builtin_add_overflow(element, step, &element)) { return {}; }
    auto extent = as_int(buffer.shape[d]);
    // The outermost extent has no effect on the place of an element.
    if (d > 0 && !is_strided && (!extent || __builtin_mul_overflow(compact, *extent, &compact))) { return {}; }
  }
  int64_t byte = 0;
  return __builtin_mul_overflow(element, *size, &byte) ? std::nullopt : std::optional(byte);
}

}  // namespace loopsmith
