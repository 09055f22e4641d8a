// The touch of a store on each buffer that it accesses: bytes, cache lines, strides, reuse.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "arith/analyzer.h"
#include "ir/ir.h"
#include "tune/metaschedule/features/loop_nest.h"

namespace loopsmith::tune::metaschedule {

inline constexpr size_t buffers_per_store = 5;
inline constexpr int64_t cache_line_bytes = 64;

/// A buffer with the shape that it has after compaction.
struct ShapedBuffer {
  const BufferNode* buffer = nullptr;
  std::vector<int64_t> shape;
};

/// An access of a store, its indices in terms of the loops around.
struct BufferAccess {
  ShapedBuffer buffer;
  bool is_write = false;
  std::vector<Expr> indices;
};

/// Elements that the stores so far touch in one run of a loop, by loop and buffer: an entry per store.
using TouchedUnderLoop = std::unordered_map<const For*, std::unordered_map<const BufferNode*, std::vector<int64_t>>>;

struct AccessFeatures {
  /// 18 numbers for each of the five buffers with most cache lines; zeros where there are fewer.
  std::vector<double> numbers;
  /// Bytes touched in one run of each loop, the outermost first.
  std::vector<int64_t> loop_bytes;
};
/// The store's own access comes first. Adds the store to `touched`.
[[nodiscard]] auto access_features(const std::vector<BufferAccess>& accesses, const LoopNest& nest, TouchedUnderLoop& touched, arith::Analyzer& analyzer) -> AccessFeatures;

}  // namespace loopsmith::tune::metaschedule
