// The programs of the examples on the reference page: small, in forms that are familiar to engineers.
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

/// A reduction, and a stage that adds to its result.
inline constexpr std::string_view matmul_bias = R"(@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), D: T.Buffer((32,), "float32"), E: T.Buffer((32, 32), "float32")):
    C = T.alloc_buffer((32, 32))
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(32, 32):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = C[vi, vj] + D[vj]
)";

/// An element-wise loop whose extent is not a multiple of the usual tile sizes.
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

/// A copy with zeros around.
inline constexpr std::string_view padded = R"(@T.prim_func
def main(A: T.Buffer((14,), "float32"), P: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("P"):
            vi = T.axis.spatial(16, i)
            P[vi] = T.if_then_else(1 <= vi and vi < 15, A[vi - 1], T.float32(0))
)";

/// A stage whose elements are each read three times.
inline constexpr std::string_view blur = R"(@T.prim_func
def main(A: T.Buffer((18,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((18,))
    for i in range(18):
        with T.block("B"):
            vi = T.axis.spatial(18, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
)";

/// Elements looked up by computed indices.
inline constexpr std::string_view resize = R"(@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((24, 24), "float32")):
    for i, j in T.grid(24, 24):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 3, vj // 3]
)";

/// A block that works in place.
inline constexpr std::string_view in_place = R"(@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi])
            T.writes(A[vi])
            A[vi] = A[vi] + T.float32(1)
)";

}  // namespace loopsmith::schedule::examples
