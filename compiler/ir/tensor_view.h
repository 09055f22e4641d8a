// A view of a tensor's memory, compact and row-major, that rooms pass to each other. The owner of the memory keeps it
// alive. No allocation, no conversion here.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dtype.h"

namespace loopsmith {

struct TensorView {
  void* data = nullptr;
  DataType dtype;                 // of an element
  std::vector<int64_t> shape;

  [[nodiscard]] auto count() const -> int64_t {
    int64_t n = 1;
    for (int64_t extent : shape) { n *= extent; }
    return n;
  }
  [[nodiscard]] auto bytes() const -> int64_t { return count() * dtype.lanes * dtype.element_bytes(); }
};

}  // namespace loopsmith
