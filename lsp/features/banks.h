// The accesses of warps to a buffer in GPU memory, in words: bank conflicts in shared memory, sectors of global memory.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::lsp {

/// Shared memory: "2-way bank conflict at `A_shared[ty, tx * 2]` (read)", or that the buffer has no conflicts. The buffer has the layout after lowering:
/// the size that a thread block touches, with the gaps of `storage_align`. Global memory:
/// "a warp takes 32 sectors of 32 bytes at `A[tx, 0]` (read), where 4 would hold the data". Empty: another memory, or no thread accesses the buffer.
[[nodiscard]] auto bank_conflicts_in_words(const PrimFunc& function, const Buffer& buffer) -> std::vector<std::string>;

}  // namespace loopsmith::lsp
