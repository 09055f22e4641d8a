// split_host_device: makes a separate function of each kernel; the function that contained the kernel calls it.
//
//     @T.prim_func                                              @T.prim_func
//     def main(A, B):                                           def main(A, B):
//         with T.launch_thread("blockIdx.x", 2) as bx:   ==>        T.call_packed("main_kernel", A.data, B.data, 2, 8)
//             with T.launch_thread("threadIdx.x", 8) as tx:
//                 B[bx * 8 + tx] = A[bx * 8 + tx]               @T.prim_func(private=True)
//                                                               def main_kernel(A: T.handle("float32"), B: T.handle("float32")):
//                                                                   with T.launch_thread("blockIdx.x", 2) as bx: ...
//
// A kernel takes the pointers that it accesses, in the order of the function's parameters and then of its allocations, and after them the
// variables that it reads. The call passes these, then the extent of every dimension that the kernel's attribute
// "tir.kernel_launch_params" lists (T.launch_thread's tags, in launch order). Statements outside of kernels that access memory become
// kernels of a single thread, so that the host touches no device memory. Memory of threads or of a block whose size is a variable is allocated by the
// host for the whole launch, as global memory. Tables of constants around a kernel become part of it.
//
// Needs   the nests of bind_threads; accesses in lowered form.
// Gives   host functions of allocations, loops, conditions and launches; kernels with the attribute "calling_conv" = 2.
// Keeps   values and order.
// Place   last.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto split_host_device(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

}  // namespace loopsmith::transform
