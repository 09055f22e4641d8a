// Bank conflicts: how threads of a warp share the banks of a GPU's shared memory.
//
// 32 banks of 4 bytes; a warp is 32 consecutive threads, threadIdx.x the fastest, then y, then z. Threads that touch one word share it
// (a broadcast); different words of one bank are fetched one after the other. Of 8 or 16 bytes a thread, which vectorized loops make of
// neighbouring elements, a half or a quarter of a warp is served at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::cost {

/// An access to a buffer, as it is written.
struct BankUse {
  std::string access;           // "A_shared[ty, tx * 2]"
  bool is_write = false;
  bool is_known = true;         // no: its indices are not numbers
  int64_t ways = 1;             // different words of one bank that a warp asks for at once, at most; 1: no conflict
  bool is_whole = true;         // of all iterations; no: of some
};

/// The stride of a dimension is `offset` more than a multiple of `factor`, as `storage_align` asks for.
struct Alignment { int64_t axis = 0, factor = 1, offset = 0; };

/// Of the accesses to a buffer inside of loops that are bound to threads, each text once, in the order of the program. Views of it
/// (match_buffer) are not followed.
[[nodiscard]] auto bank_uses(const PrimFunc& function, const Buffer& buffer, const std::vector<Alignment>& alignments = {}) -> std::vector<BankUse>;

}  // namespace loopsmith::cost
