// Matrix products as flat TIR, tiled and packed by hand, in the form of a lowered good schedule. They measure code
// generation for such a schedule, without the search for it.
#pragma once

#include "ir/ir.h"

namespace loopsmith::bench {

/// C = A B in float32, row-major, with sizes that are multiples of the tiles. First all of B is packed into panels of `nr`
/// columns; A is optionally packed into panels of `mr` rows within each block of rows. Threads take blocks of rows.
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
