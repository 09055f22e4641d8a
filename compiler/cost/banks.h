// Accesses of a warp's threads together: bank conflicts in a GPU's shared memory, and sectors of its global memory.
//
// The model of shared memory: 32 banks of 4 bytes; a warp is 32 consecutive threads, threadIdx.x the fastest, then y, then z. Threads that access the same
// word share it (a broadcast); different words of a bank are fetched one after the other. Accesses of 8 or 16 bytes per thread, which
// vectorized loops make of neighbouring elements, serve a half or a quarter of a warp at a time.
//
// Global memory moves sectors of 32 bytes: a request of a warp takes all sectors that its threads touch. Buffers begin at a sector.
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
  bool is_known = true;         // false: its indices have no known values
  int64_t ways = 1;             // shared memory: the most words of one bank that a warp needs at once; 1: no conflict
  int64_t sectors = 0;          // global memory: the number of sectors of the request with the largest waste
  int64_t least_sectors = 0;    // the fewest sectors that would hold the bytes of that request
  bool is_whole = true;         // all iterations were examined; false: only some
  Origin origin;                // of the first access with this text
};

/// A request of `storage_align`: the stride of a dimension is a multiple of `factor`, plus `offset`.
struct Alignment { int64_t axis = 0, factor = 1, offset = 0; };

/// The accesses to a buffer inside of loops that are bound to threads, each text once, in the order of the program. Skips accesses through
/// views (match_buffer).
[[nodiscard]] auto bank_uses(const PrimFunc& function, const Buffer& buffer, const std::vector<Alignment>& alignments = {}) -> std::vector<BankUse>;

}  // namespace loopsmith::cost
