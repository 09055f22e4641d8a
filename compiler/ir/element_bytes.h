// Elements of buffers as bytes of memory. Buffers that share memory number its bytes differently.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

/// The first byte of an element, counted from the pointer of the buffer. None: the element does not begin at a byte, or shape, strides or offset of the
/// buffer are not numbers.
[[nodiscard]] auto first_byte(const BufferNode& buffer, const std::vector<int64_t>& at) -> std::optional<int64_t>;

/// The bytes of an element; none if it is not whole bytes.
[[nodiscard]] auto bytes_of_element(const BufferNode& buffer) -> std::optional<int64_t>;

}  // namespace loopsmith
