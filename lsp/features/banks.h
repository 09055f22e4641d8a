// Accesses of warps to a buffer in a GPU's memory, in words: bank conflicts in shared memory, sectors of global memory.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::lsp {

/// Of shared memory: "2-way bank conflict at `A_shared[ty, tx * 2]` (read)", or that there are none; of the buffer as lowering lays it out: as large as what
/// threads of a block touch, with the gaps that `storage_align` asks for. Of global memory:
/// "a warp takes 32 sectors of 32 bytes at `A[tx, 0]` (read), where 4 would hold the data". Empty: it is in another memory, or no thread accesses it.
[[nodiscard]] auto bank_conflicts_in_words(const PrimFunc& function, const Buffer& buffer) -> std::vector<std::string>;

}  // namespace loopsmith::lsp
