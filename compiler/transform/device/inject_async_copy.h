// inject_async_copy: copies from global to shared memory that a thread starts and waits for later (`cp.async` of sm_80 and later).
//
//     with T.attr(0, "async_scope", 1):                       T.ptx_cp_async("float32", S.data, k % 2 * 128 + tx * 4,
//         for v in T.vectorized(4):                ==>                       A.data, k * 128 + tx * 4, 16)
//             S[k % 2 * 128 + tx * 4 + v] = A[k * 128 + tx * 4 + v]
//
// inject_software_pipeline marks the statements, and puts `ptx_commit_group` behind and `ptx_wait_group` where their results are read; so may
// a person. A copy moves 4, 8 or 16 bytes that are contiguous on both sides and aligned to their number. `if_then_else(c, A[...], 0)` is a copy with a
// condition, which writes zeros where the condition is false.
//
// For devices without such copies (sm_75), it makes loads and stores of the copies that a program starts by name.
//
// Needs   flat accesses; barriers are inserted: a wait comes before the barrier that lets other threads read.
// Gives   no `async_scope`. A statement that is no such copy stays as it is: it is done when the thread goes on. So is a copy from a buffer that the
//         function also writes, and one to memory that no kernel allocates.
// Keeps   values.
// Place   after bind_threads; before vectorize_loop, which dissolves the loops that move several elements.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto inject_async_copy(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
