// Estimates of kernels: their order, and kernels that a device cannot run.
#include "cost/kernel_estimate.h"

#include <cmath>
#include <string>

#include "frontend/file.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

/// A product of matrices of 1024 x 1024, a thread for each element, with these names of the two loops.
auto product(const std::string& blocks, const std::string& threads, const std::string& memory = "A[vi, vk]") -> IRModule {
  const std::string text = R"PY(
@T.prim_func
def main(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
    for )PY" + blocks + R"PY( in T.thread_binding(1024, thread="blockIdx.x"):
        for )PY" + threads + R"PY( in T.thread_binding(1024, thread="threadIdx.x"):
            for k in range(1024):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = C[vi, vj] + )PY" + memory + R"PY( * B[vk, vj]
)PY";
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  REQUIRE(file.size() > 0);
  REQUIRE(file.declaration(0).module);
  return file.declaration(0).module;
}

auto seconds(const IRModule& module, const char* target = "cuda -arch=sm_90a") -> std::optional<double> {
  return cost::kernel_seconds(module->find(Name("main")), cost::gpu_model(*target::parse(target)));
}

}  // namespace

TEST_CASE("threads of a warp that load neighbouring elements are faster than those that load a column") {
  const auto rows = seconds(product("i", "j")), columns = seconds(product("j", "i"));
  REQUIRE((rows && columns));
  CHECK(*columns > 3 * *rows);
}

TEST_CASE("a card with more multiprocessors is faster") {
  CHECK(*seconds(product("i", "j"), "cuda -arch=sm_75") > *seconds(product("i", "j")));
}

TEST_CASE("a kernel beyond the limits of a block has no finite time, and a program without threads none at all") {
  cost::GpuModel small = cost::gpu_model(*target::parse("cuda -arch=sm_90a"));
  small.limits.block_threads = 512;
  const auto too_many = cost::kernel_seconds(product("i", "j")->find(Name("main")), small);
  REQUIRE(too_many);
  CHECK(std::isinf(*too_many));
  syntax::Document document("@T.prim_func\ndef main(A: T.Buffer((8,), \"float32\")):\n    for i in range(8):\n        A[i] = T.float32(1)\n");
  frontend::File file;
  file.update(document);
  CHECK(!seconds(file.declaration(0).module));
}
