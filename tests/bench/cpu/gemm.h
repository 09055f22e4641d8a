// Matrix products as flat TIR, tiled and packed by hand: what a good schedule lowers to. They tell how far code
// generation lets such a schedule go, apart from whether one was found.
#pragma once

#include "ir/ir.h"

namespace loopsmith::bench {

/// C = A B in float32, row-major, sizes multiples of the tiles. B is packed into panels of `nr` columns, all of it
/// at first; A, where wanted, into panels of `mr` rows within each block of rows. Blocks of rows go to threads.
struct Gemm {
  int64_t m = 1024, n = 1024, k = 1024;
  int mr = 8;             // rows of the register tile
  int nv = 3;             // vectors in a row of it
  int lanes = 16;
  int64_t kc = 256;       // depth of a block
  int64_t mc = 128;       // rows of a block, a multiple of mr
  bool pack_a = true;
  [[nodiscard]] auto nr() const -> int64_t { return int64_t(nv) * lanes; }
};
[[nodiscard]] auto gemm(const Gemm& shape) -> IRModule;

}  // namespace loopsmith::bench
