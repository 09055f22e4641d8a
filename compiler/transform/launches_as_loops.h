// launches_as_loops: kernels that are written with `T.launch_thread` as loops over threads, with their memory where CUDA has it.
//
//     tx = T.launch_thread("threadIdx.x", 64)                  S = T.alloc_buffer((64,), scope="shared")
//     S = T.alloc_buffer((64,), scope="shared")        ==>     for tx in T.thread_binding(64, "threadIdx.x"):
//     S[tx] = A[tx]                                                S[tx] = A[tx]
//     T.tvm_storage_sync("shared")                                 T.tvm_storage_sync("shared")
//     B[tx] = S[63 - tx]                                           B[tx] = S[63 - tx]
//
// A block has one copy of shared memory, wherever among its threads the program allocates it: the allocation moves in front of the loops over threads. Where
// these are loops, not launches, it moves if a barrier is written inside of the allocation; other loops give every iteration memory of its own, as schedules do.
// A return ends its thread: the statements behind it run under a condition.
// Each thread has a copy of local memory and of fragments: an allocation outside of a launch moves into it, if nothing else uses the memory.
//
// Needs   blocks.
// Gives   no launches of threads; later stages treat written kernels as scheduled ones.
// Keeps   values. An allocation whose size depends on variables of the kernel stays.
// Place   before all stages that move or shrink allocations.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

/// The annotation of a loop that was a launch: each thread does what its code says, so an update that several threads make is no reduction over them.
inline constexpr const char* launched = "launched";

[[nodiscard]] auto launches_as_loops(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
