// Texts of programs that several tests use.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace loopsmith::tests {

/// C = A x B in float32, with `m` x `n` results and `k` terms for each. Ends with a newline.
[[nodiscard]] inline auto product(std::string_view name, int m, int n, int k) -> std::string {
  return fmt::format(R"PY(@T.prim_func
def {0}(A: T.Buffer(({1}, {3}), "float32"), B: T.Buffer(({3}, {2}), "float32"), C: T.Buffer(({1}, {2}), "float32")):
    for i, j, k in T.grid({1}, {2}, {3}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)PY", name, m, n, k);
}

}  // namespace loopsmith::tests
