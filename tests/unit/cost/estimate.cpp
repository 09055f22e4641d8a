// Differences that the estimate must see: vectors, threads, the order of loops, the place of a buffer. The programs are in the form of
// scheduled ones.
#include "cost/estimate.h"

#include <fmt/format.h>

#include "tests/unit/catch.h"
#include "tests/unit/cost/module_of.h"

using namespace loopsmith;

namespace {

using cost::module_of;

auto seconds(const std::string& text, cost::CoreModel core = {}) -> double {
  IRModule module = module_of(text);
  REQUIRE(module);
  schedule::FuncState func(module->functions.begin()->first, module->functions.begin()->second);
  auto estimate = cost::estimate(func, core);
  return estimate ? estimate->seconds : -1;
}

auto matmul(const std::string& loops, const std::string& bindings = "vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])") -> std::string {
  std::string text = "@T.prim_func\ndef main(A: T.Buffer((512, 512), \"float32\"), B: T.Buffer((512, 512), \"float32\"), C: T.Buffer((512, 512), \"float32\")):\n";
  std::string indent = "    ";
  for (size_t at = 0; at < loops.size();) {
    size_t end = loops.find(';', at);
    end = end == std::string::npos ? loops.size() : end;
    text += indent + "for " + loops.substr(at, end - at) + ":\n";
    indent += "    ";
    at = end + 1;
  }
  text += indent + "with T.block(\"C\"):\n";
  indent += "    ";
  for (size_t at = 0; at < bindings.size();) {
    size_t end = bindings.find(';', at);
    end = end == std::string::npos ? bindings.size() : end;
    text += indent + bindings.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text + indent + "with T.init():\n" + indent + "    C[vi, vj] = T.float32(0)\n" + indent + "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";
}

const std::string tiled = "vi = T.axis.spatial(512, i0 * 8 + i1);vj = T.axis.spatial(512, j0 * 32 + j1);vk = T.axis.reduce(512, k)";

}  // namespace

TEST_CASE("vectors, register tiles and threads are each worth something") {
  double plain = seconds(matmul("i in range(512);j in range(512);k in range(512)"));
  double vector = seconds(matmul("i in range(512);k in range(512);j in T.vectorized(512)"));
  double tile = seconds(matmul("i0 in range(64);j0 in range(16);k in range(512);i1 in T.unroll(8);j1 in T.vectorized(32)", tiled));
  cost::CoreModel four;
  four.cores = 4;
  double threads = seconds(matmul("i0 in T.parallel(64);j0 in range(16);k in range(512);i1 in T.unroll(8);j1 in T.vectorized(32)", tiled), four);
  CHECK(plain > 2 * vector);
  CHECK(vector > 1.5 * tile);
  CHECK(tile > 2 * threads);
  CHECK(threads > 0);
}

TEST_CASE("a parallel loop of a few additions is worth less than nothing") {
  CHECK(seconds(matmul("i in range(512);j in range(512);k in range(512)"), {.cores = 4}) > 0);
  auto add = [](const char* inner) {
    return fmt::format("@T.prim_func\ndef main(A: T.Buffer((4096, 8), \"float32\"), B: T.Buffer((4096, 8), \"float32\")):\n    for i in range(4096):\n        for j in {}(8):\n"
                       "            with T.block(\"B\"):\n                vi, vj = T.axis.remap(\"SS\", [i, j])\n                B[vi, vj] = A[vi, vj] + T.float32(1)\n", inner);
  };
  cost::CoreModel four;
  four.cores = 4;
  CHECK(seconds(add("T.parallel"), four) > 5 * seconds(add("T.serial"), four));
}

TEST_CASE("fused loops cost the same as separate ones") {
  double apart = seconds(matmul("i in range(512);j in range(512);k in range(512)"));
  double fused = seconds(matmul("f in range(262144);k in range(512)", "vi = T.axis.spatial(512, f // 512);vj = T.axis.spatial(512, f % 512);vk = T.axis.reduce(512, k)"));
  CHECK(fused > 0.9 * apart);
  CHECK(fused < 1.6 * apart);   // shifts and masks in the index
}

TEST_CASE("walking down the columns costs more than along the rows") {
  auto copy = [](const char* loops) {
    return fmt::format("@T.prim_func\ndef main(A: T.Buffer((2048, 2048), \"float32\"), B: T.Buffer((2048, 2048), \"float32\")):\n    for {} in T.grid(2048, 2048):\n"
                       "        with T.block(\"B\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            B[vi, vj] = A[vi, vj]\n", loops);
  };
  CHECK(seconds(copy("j, i")) > 3 * seconds(copy("i, j")));
}

TEST_CASE("data that was just written comes from a cache") {
  std::string head = "@T.prim_func\ndef main(A: T.Buffer((4096, 1024), \"float32\"), C: T.Buffer((4096, 1024), \"float32\")):\n    B = T.alloc_buffer((4096, 1024))\n";
  std::string b = "with T.block(\"B\"):\n{0}    vi, vj = T.axis.remap(\"SS\", [i, j])\n{0}    B[vi, vj] = A[vi, vj] * T.float32(2)\n";
  std::string c = "with T.block(\"C\"):\n{0}    vi, vj = T.axis.remap(\"SS\", [i, j])\n{0}    C[vi, vj] = B[vi, vj] + T.float32(1)\n";
  auto in = [](const std::string& indent, const std::string& block) { return indent + fmt::format(fmt::runtime(block), indent); };
  std::string apart = head + "    for i in range(4096):\n        for j in T.vectorized(1024):\n" + in("            ", b) + "    for i in range(4096):\n        for j in T.vectorized(1024):\n" + in("            ", c);
  std::string together = head + "    for i in range(4096):\n        for j in T.vectorized(1024):\n" + in("            ", b) + "        for j in T.vectorized(1024):\n" + in("            ", c);
  CHECK(seconds(apart) > 1.3 * seconds(together));
}

TEST_CASE("a loop in two adjacent parts touches as much as the whole loop") {
  std::string head = "@T.prim_func\ndef main(A: T.Buffer((512, 512), \"float32\"), B: T.Buffer((512, 512), \"float32\"), C: T.Buffer((512, 512), \"float32\")):\n    for i, j in T.grid(512, 512):\n";
  auto part = [](int begin, int extent) {
    return fmt::format("        for k in range({1}):\n            with T.block(\"C{0}\"):\n                vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                       "                vk = T.axis.reduce(512, {0} + k)\n                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n", begin, extent);
  };
  double whole = seconds(head + part(0, 512));
  double parts = seconds(head + part(0, 256) + part(256, 256));
  CHECK(cost::gain_text(whole / parts) == "");
  // The form after loop_partition: each part starts at its own offset.
  auto counted_on = [](int begin, int end) {
    return fmt::format("        for k in range({0}, {1}):\n            with T.block(\"C{0}\"):\n                vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                       "                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n", begin, end);
  };
  CHECK(cost::gain_text(whole / seconds(head + counted_on(0, 256) + counted_on(256, 512))) == "");
}

TEST_CASE("there is no estimate where there is no model") {
  CHECK(seconds("@T.prim_func\ndef main(a: T.handle, n: T.int32):\n    A = T.match_buffer(a, (n,))\n    for i in range(n):\n        with T.block(\"A\"):\n"
                "            vi = T.axis.spatial(n, i)\n            A[vi] = T.float32(0)\n") == -1);
  CHECK(seconds("@T.prim_func\ndef main(A: T.Buffer((64,), \"float32\")):\n    for i in T.thread_binding(64, thread=\"threadIdx.x\"):\n        with T.block(\"A\"):\n"
                "            vi = T.axis.spatial(64, i)\n            A[vi] = T.float32(0)\n") == -1);
}

TEST_CASE("a gain in words") {
  CHECK(cost::gain_text(2.14) == "about 2.1x faster");
  CHECK(cost::gain_text(12.3) == "about 12x faster");
  CHECK(cost::gain_text(0.25) == "about 4x slower");
  CHECK(cost::gain_text(1.2).empty());
  CHECK(cost::gain_text(0.95).empty());
}
