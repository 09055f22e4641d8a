// Memory of the scope `warp` as registers: each lane of a warp holds the element of its index, and reads those of others by an exchange.
//
//     W[tx] = A[bx * 32 + tx]                                     W[0] = A[bx * 32 + tx]
//     B[bx * 32 + tx] = W[(tx + 5) % 32]            ==>           B[bx * 32 + tx] = T.tvm_warp_shuffle(-1, W[0], (tx + 5) % 32, 32, 32)
//
// Needs   a block with exactly 32 threads in `threadIdx.x`; 32 elements of 32 bits; stores by the lane of the index; loads that all lanes execute together, outside of
//         choices. Other memory of the scope is not taken: it becomes shared memory.
#pragma once

#include <unordered_set>

#include "ir/ir.h"

namespace loopsmith::transform {

/// The memory of a kernel that can be held in registers, by its data variable. `kernel`: flat code whose thread-bound loops are still loops.
[[nodiscard]] auto memory_of_lanes(const Stmt& kernel) -> std::unordered_set<const VarNode*>;

/// Replaces the memory in a kernel with one index for each dimension. `lane`: the index of `threadIdx.x`.
[[nodiscard]] auto in_registers(const Stmt& kernel, const std::unordered_set<const VarNode*>& memory, const Var& lane) -> Stmt;

}  // namespace loopsmith::transform
