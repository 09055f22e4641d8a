// Programs that the examples of the reference page are about: small, and each a form that engineers know.
#pragma once

#include <string_view>

namespace loopsmith::schedule::examples {

inline constexpr std::string_view matmul = R"(@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

/// Two element-wise stages, the second with loops of its own.
inline constexpr std::string_view two_stages = R"(@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,))
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * T.float32(2)
    for i0, i1 in T.grid(8, 8):
        with T.block("C"):
            vi = T.axis.spatial(64, i0 * 8 + i1)
            C[vi] = B[vi] + T.float32(1)
)";

/// A reduction, and a stage that reads its result.
inline constexpr std::string_view matmul_relu = R"(@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), D: T.Buffer((32, 32), "float32")):
    C = T.alloc_buffer((32, 32))
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(32, 32):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
)";

/// An element-wise loop whose extent is no multiple of the usual tile sizes.
inline constexpr std::string_view scale = R"(@T.prim_func
def main(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i in range(30):
        with T.block("B"):
            vi = T.axis.spatial(30, i)
            B[vi] = A[vi] * T.float32(2)
)";

inline constexpr std::string_view annotated = R"(@T.prim_func
def main(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i in T.serial(30, annotations={"pragma_auto_unroll_max_step": 16}):
        with T.block("B"):
            vi = T.axis.spatial(30, i)
            B[vi] = A[vi] * T.float32(2)
)";

}  // namespace loopsmith::schedule::examples
