// Which strides of a buffer count.
#pragma once

#include "ir/ir.h"

namespace loopsmith {

/// Has it a stride for every dimension? TVM's rewrites of shapes leave strides of another number behind: such are no layout, and
/// the buffer is row-major.
[[nodiscard]] inline auto is_strided(const Buffer& buffer) -> bool {
  return !buffer->strides.empty() && buffer->strides.size() == buffer->shape.size();
}

}  // namespace loopsmith
