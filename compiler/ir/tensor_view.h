// A plain view of a tensor's memory, as DLPack lays tensors out: what the interpreter, the runtime and those who
// compare results hand to each other. Owns nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dtype.h"

namespace loopsmith {

struct TensorView {
  void* data = nullptr;              // first element; bool takes one byte
  DataType dtype = {};
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {}; // in elements; empty: compact, row-major

  [[nodiscard]] auto elements() const -> int64_t {
    int64_t count = 1;
    for (int64_t extent : shape) { count *= extent; }
    return count;
  }
  [[nodiscard]] auto bytes() const -> int64_t { return elements() * dtype.element_bytes() * dtype.lanes; }
};

}  // namespace loopsmith
