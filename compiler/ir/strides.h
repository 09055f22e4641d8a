// The strides of a buffer that describe its layout.
#pragma once

#include "ir/ir.h"

namespace loopsmith {

/// True when the buffer has a stride for every dimension. TVM's rewrites of shapes may leave another number of strides: these are
/// ignored, and the buffer is row-major.
[[nodiscard]] inline auto is_strided(const Buffer& buffer) -> bool {
  return !buffer->strides.empty() && buffer->strides.size() == buffer->shape.size();
}

}  // namespace loopsmith
