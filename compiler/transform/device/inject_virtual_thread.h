// inject_virtual_thread: makes register code of virtual threads: the statements of all virtual threads stand beside one another.
//
//     for v in T.thread_binding(2, "vthread.x"):                       C = T.allocate([8], scope="local")
//         C = T.allocate([4], scope="local")                           for k in range(16):
//         for k in range(16):                                              S[tx] = A[k * 32 + tx]
//             S[tx] = A[k * 32 + tx]                          ==>          T.tvm_storage_sync("shared")
//             T.tvm_storage_sync("shared")                                 for i in range(4):
//             for i in range(4):                                               for v in T.unroll(2):
//                 C[i] = C[i] + S[v * 4 + i]                                       C[v * 4 + i] = C[v * 4 + i] + S[v * 4 + i]
//
// Loops around and barriers are not repeated, nor are statements that do the same in every virtual thread, such as the cooperative load
// of a tile. A buffer that is allocated inside and has other contents in each virtual thread gets a part for each, shared memory too; other
// shared memory keeps its size. A condition that differs between virtual threads moves inwards where threads of the block meet below it.
//
// Needs   flat accesses; reductions across threads are lowered. The iterations of a virtual thread do not depend on one another, as for threads.
// Gives   unrolled loops over virtual threads around single statements; serial ones above 16 virtual threads. A virtual thread stays a loop where its
//         extent is not constant, where the plain pointer of a buffer is used that would get parts, where virtual threads pass values through
//         memory from outside or each begin a sum there, or where a barrier stands below a loop whose length differs between them.
// Keeps   values.
// Place   before bind_threads, which inserts barriers: they stand outside of the loops over virtual threads then.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto inject_virtual_thread(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
