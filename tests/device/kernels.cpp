// The host device finds the faults that it is made for: each kernel here is correct or has one of them.
#include "catch.h"

#include <numeric>
#include <vector>

#include "host_device.h"

using namespace loopsmith;
using namespace loopsmith::device_tests;

namespace {

/// Runs a kernel of one buffer, which begins as 0, 1, ..., with `threads` threads in each of `blocks` blocks; returns the buffer.
auto run(const std::string& text, ThreadOrder order, unsigned threads = 64, unsigned blocks = 2) -> Result<std::vector<float>> {
  auto device = open_host_device(order);
  REQUIRE(device);
  LOOPSMITH_CHECK(device->compile("extern \"C\" __global__ void __launch_bounds__(64) kernel(float* __restrict__ A) {\n" + text + "\n}\n"));
  std::vector<float> values(static_cast<size_t>(threads) * blocks);
  std::iota(values.begin(), values.end(), 0.0F);
  LOOPSMITH_TRY(memory, device->allocate(values.size() * 4));
  LOOPSMITH_CHECK(device->write(memory, values.data(), values.size() * 4));
  LOOPSMITH_CHECK(device->launch("kernel", {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}}, {memory}));
  LOOPSMITH_CHECK(device->read(values.data(), memory, values.size() * 4));
  return values;
}
auto message(const Result<std::vector<float>>& result) -> std::string {
  REQUIRE_FALSE(result.ok());
  return result.diagnostics().front().message();
}

const std::string reversal = R"(  __shared__ float S[64];
  S[threadIdx.x] = A[blockIdx.x * 64 + threadIdx.x];
  BARRIER
  A[blockIdx.x * 64 + threadIdx.x] = S[63 - threadIdx.x];)";

auto with_barrier(std::string text, const std::string& barrier) -> std::string { return text.replace(text.find("BARRIER"), 7, barrier); }

}  // namespace

TEST_CASE("values cross a block at its barrier, in each order of threads") {
  for (ThreadOrder order : {ThreadOrder::Forward, ThreadOrder::Backward, ThreadOrder::Shuffled}) {
    auto values = run(with_barrier(reversal, "__syncthreads();"), order);
    REQUIRE(values.ok());
    for (size_t i = 0; i < 128; ++i) { CHECK((*values)[i] == static_cast<float>(i / 64 * 64 + 63 - i % 64)); }
  }
}

TEST_CASE("shared memory that a launch requests is memory of the block") {
  auto values = run("  extern __shared__ __align__(128) unsigned char ls_shared[];\n  float* const S = (float*)(ls_shared + 128);\n  S[threadIdx.x] = A[blockIdx.x * 64 + threadIdx.x];\n"
                    "  __syncthreads();\n  A[blockIdx.x * 64 + threadIdx.x] = S[63 - threadIdx.x];",
                    ThreadOrder::Forward);
  REQUIRE(values.ok());
  for (size_t i = 0; i < 128; ++i) { CHECK((*values)[i] == static_cast<float>(i / 64 * 64 + 63 - i % 64)); }
}

TEST_CASE("without its barrier a kernel computes other values") {
  auto values = run(with_barrier(reversal, ""), ThreadOrder::Forward);
  REQUIRE(values.ok());
  CHECK((*values)[0] != (*values)[0]);   // read from shared memory that no thread has written
}

TEST_CASE("a barrier that some threads do not reach is an error with the threads that part") {
  CHECK(message(run("  if (threadIdx.x < 40) { __syncthreads(); }", ThreadOrder::Forward)).find("thread 0 waits at the barrier of line 2, thread 40 has ended") != std::string::npos);
  CHECK(message(run("  if (threadIdx.x < 40) { __syncthreads(); }\n  else { __syncthreads(); }", ThreadOrder::Backward)).find("thread 40 waits at the barrier of line 3") != std::string::npos);
}

TEST_CASE("lanes of a warp exchange values; a shuffle that a lane of the mask does not reach is an error") {
  auto values = run("  float v = A[blockIdx.x * 64 + threadIdx.x];\n  for (int d = 16; d > 0; d >>= 1) { v += __shfl_down_sync(0xffffffffu, v, d, 32); }\n"
                    "  A[blockIdx.x * 64 + threadIdx.x] = __shfl_sync(0xffffffffu, v, 0);", ThreadOrder::Shuffled);
  REQUIRE(values.ok());
  for (size_t i = 0; i < 128; ++i) { CHECK((*values)[i] == static_cast<float>(496 + i / 32 * 1024)); }
  CHECK(message(run("  if (threadIdx.x % 32 != 3) { A[0] = __shfl_xor_sync(0xffffffffu, A[1], 1); }", ThreadOrder::Forward)).find("waits for lanes 0xffffffff") != std::string::npos);
}

TEST_CASE("an index beyond a shared array and a write beyond a buffer are errors") {
  CHECK(message(run("  __shared__ float S[64];\n  S[threadIdx.x + 1] = 0.0f;", ThreadOrder::Forward)).find("outside of its array") != std::string::npos);
  CHECK(message(run("  A[blockIdx.x * 64 + threadIdx.x + 1] = 0.0f;", ThreadOrder::Forward)).find("writes beyond a buffer of 512 bytes") != std::string::npos);
}

TEST_CASE("a vector at an address that is not a multiple of its size is an error") {
  CHECK(run("  *(float2*)&A[threadIdx.x / 2 * 2] = make_float2(0.0f, 0.0f);", ThreadOrder::Forward).ok());
  CHECK(message(run("  *(float2*)&A[threadIdx.x / 2 * 2 + 1] = make_float2(0.0f, 0.0f);", ThreadOrder::Forward)).find("not a multiple of its size") != std::string::npos);
}

TEST_CASE("a read-only load of an element that the kernel has written is an error") {
  CHECK(run("  float v = __ldg(&A[threadIdx.x]);\n  A[threadIdx.x] = v;", ThreadOrder::Forward, 64, 1).ok());
  CHECK(message(run("  A[threadIdx.x] = 70.0f;\n  A[threadIdx.x] = __ldg(&A[threadIdx.x]) + 1.0f;", ThreadOrder::Forward)).find("read-only load") != std::string::npos);
}

TEST_CASE("asynchronous copies are there after the wait for their group, and not before") {
  const std::string copies = "  __shared__ __align__(16) float S[64], R[64];\n  S[threadIdx.x] = -1.0f;\n  R[threadIdx.x] = -1.0f;\n  ls_cp_async_4(&S[threadIdx.x], &A[blockIdx.x * 64 + threadIdx.x], true);\n"
                             "  ls_cp_async_commit();\n  ls_cp_async_4(&R[threadIdx.x], &A[0], threadIdx.x != 5);\n  ls_cp_async_commit();\n";
  auto result = [&](const std::string& wait) { return run(copies + wait + "  __syncthreads();\n  A[blockIdx.x * 64 + threadIdx.x] = S[63 - threadIdx.x] * 1000.0f + R[threadIdx.x];", ThreadOrder::Shuffled, 64, 1); };
  auto none = result(""), first = result("  ls_cp_async_wait_1();\n"), both = result("  ls_cp_async_wait_0();\n");
  REQUIRE((none.ok() && first.ok() && both.ok()));
  CHECK((*none)[3] == -1001.0F);
  CHECK((*first)[3] == 60.0F * 1000.0F - 1.0F);
  CHECK((*both)[3] == 60.0F * 1000.0F);
}
