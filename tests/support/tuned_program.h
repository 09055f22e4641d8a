// Programs, targets and contexts for tests of design spaces: a product with a relu behind it, and the steps from a text to the input of a rule. Mistakes in them throw.
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "frontend/file.h"
#include "intrinsics/registry.h"
#include "syntax/document.h"
#include "target/hardware.h"
#include "target/target.h"
#include "tune/space/sketch.h"

namespace loopsmith::testing {

/// D = max(A x B, 0) in float32, with `m` x `n` results and `k` terms for each.
[[nodiscard]] inline auto product_relu(int m, int n, int k) -> std::string {
  return fmt::format(R"PY(
@T.prim_func
def main(A: T.Buffer(({0}, {2}), "float32"), B: T.Buffer(({2}, {1}), "float32"), D: T.Buffer(({0}, {1}), "float32")):
    C = T.alloc_buffer(({0}, {1}), "float32")
    for i, j, k in T.grid({0}, {1}, {2}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid({0}, {1}):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
)PY", m, n, k);
}

/// The module of the first program of a text.
[[nodiscard]] inline auto module_of(const std::string& text) -> IRModule {
  intrinsics::install();
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  IRModule module = file.size() > 0 ? file.declaration(0).module : IRModule();
  if (!module) { throw std::runtime_error("the text has no program: " + text); }
  return module;
}

[[nodiscard]] inline auto target_of(const std::string& text) -> target::Target {
  auto target = target::parse(text);
  if (!target.ok()) { throw std::runtime_error("no target: " + text); }
  return *target;
}

/// The input of rules for the function `main`; `module` must outlive it.
[[nodiscard]] inline auto context_of(const IRModule& module, const target::Target& target) -> tune::SpaceContext {
  const target::Hardware hardware = target::hardware(target);
  return {module, Name("main"), hardware, cost::core_model(hardware)};
}

}  // namespace loopsmith::testing
