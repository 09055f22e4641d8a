// Devices without hardware: tables of GPUs, occupancy, the numbers in a compiler's log, the cache of compiled kernels.
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <unistd.h>

#include "runtime/devices/cubin_cache.h"
#include "runtime/devices/cuda_compiler.h"
#include "target/gpu.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("loopsmith-kernels-" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
};

auto size_of(const fs::path& folder) -> uint64_t {
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) { bytes += entry.file_size(); }
  return bytes;
}

}  // namespace

TEST_CASE("targets of GPUs have limits by their architecture or card") {
  auto limits = [](const char* text) { return *target::gpu_limits(*target::parse(text)); };
  CHECK(limits("cuda -arch=sm_90a").shared_most == 227 * 1024);
  CHECK(limits("cuda -arch=sm_86").shared_most == 99 * 1024);
  CHECK(limits("cuda").name == "sm_80");
  CHECK(limits("nvptx -mcpu=sm_75").unit_threads == 1024);
  CHECK(limits("nvidia/nvidia-a100").units == 108);
  CHECK(limits("cuda -max_threads_per_block=512").block_threads == 512);
  CHECK_FALSE(target::gpu_limits(*target::parse("opencl")).has_value());
  for (const target::CudaArch& arch : target::cuda_archs()) {
    CHECK(target::check_gpu(*target::parse("cuda -arch=" + std::string(arch.name))).ok());
    CHECK(arch.shared_most <= arch.unit_shared);
  }
  CHECK_FALSE(target::check_gpu(*target::parse("cuda -arch=sm_70")).ok());
  CHECK_FALSE(target::check_gpu(*target::parse("cuda -arch=sm_80a")).ok());
  CHECK_FALSE(target::check_gpu(*target::parse("nvidia/tesla-k80")).ok());
  CHECK(target::parse(target::parse("nvidia/geforce-rtx-3090")->str())->str() == "cuda -arch=sm_86 -tag=nvidia/geforce-rtx-3090");
}

// The values of NVIDIA's occupancy calculator.
TEST_CASE("occupancy is that of the resource that ends first") {
  const target::GpuLimits a100 = *target::gpu_limits(*target::parse("cuda -arch=sm_80"));
  auto of = [&](uint64_t threads, uint64_t registers, uint64_t shared) { return target::occupancy(a100, threads, registers, shared); };
  CHECK(of(256, 32, 0).share == 1);
  CHECK(of(256, 32, 0).limiter == "threads");
  CHECK(of(256, 64, 0).blocks == 4);
  CHECK(of(256, 64, 0).limiter == "registers");
  CHECK(of(256, 32, 48 * 1024).blocks == 3);
  CHECK(of(256, 32, 48 * 1024).limiter == "shared memory");
  CHECK(of(32, 16, 0).blocks == 32);
  CHECK(of(32, 16, 0).limiter == "blocks");
  CHECK(of(1024, 255, 0).blocks == 0);
}

TEST_CASE("a compiler's log has the figures of each kernel") {
  auto figures = runtime::read_figures("ptxas info    : 0 bytes gmem\n"
                                       "ptxas info    : Compiling entry function 'first' for 'sm_80'\n"
                                       "ptxas info    : Function properties for first\n"
                                       "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
                                       "ptxas info    : Used 40 registers, used 1 barriers, 8192 bytes smem, 376 bytes cmem[0]\n"
                                       "ptxas info    : Compiling entry function 'second' for 'sm_80'\n"
                                       "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                       "ptxas info    : Used 9 registers, used 0 barriers\n");
  REQUIRE(figures.size() == 2);
  CHECK(figures[0].kernel == "first");
  CHECK(figures[0].registers == 40);
  CHECK(figures[0].shared_bytes == 8192);
  CHECK(figures[0].stack_bytes == 16);
  CHECK(figures[0].spill_stores == 8);
  CHECK(figures[0].spill_loads == 12);
  CHECK(figures[0].barriers == 1);
  CHECK(figures[1].kernel == "second");
  CHECK(figures[1].registers == 9);
  CHECK(figures[1].shared_bytes == 0);
  CHECK(runtime::read_figures("").empty());
}

TEST_CASE("compiled kernels are kept up to a bound") {
  Folder folder;
  const runtime::CubinCache cache{.folder = folder.path.string(), .most_bytes = 40'000};
  CHECK_FALSE(cache.find({"a", "sm_80"}).has_value());
  cache.store({"a", "sm_80"}, "code");
  CHECK(cache.find({"a", "sm_80"}) == "code");
  // The parts of a key are separated.
  CHECK_FALSE(cache.find({"asm", "_80"}).has_value());
  CHECK_FALSE(cache.find({"a", "sm_80", ""}).has_value());
  for (int i = 0; i < 30; ++i) {
    cache.store({std::to_string(i)}, std::string(3000, 'x'));
    // Used all the time, so that it is not removed from the cache.
    CHECK(cache.find({"a", "sm_80"}) == "code");
  }
  CHECK(size_of(folder.path) <= 40'000);
  CHECK(cache.find({"29"}).has_value());
  CHECK_FALSE(cache.find({"0"}).has_value());
}

TEST_CASE("a damaged file of the cache counts as absent, and several writers do not disturb a reader") {
  Folder folder;
  const runtime::CubinCache cache{.folder = folder.path.string()};
  cache.store({"a"}, "some code");
  for (const auto& entry : fs::directory_iterator(folder.path)) { fs::resize_file(entry.path(), entry.file_size() - 1); }
  CHECK_FALSE(cache.find({"a"}).has_value());
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) { cache.store({"a"}, std::string(5000, 'y')); }
    });
  }
  int wrong = 0;
  for (int i = 0; i < 200; ++i) {
    auto found = cache.find({"a"});
    wrong += found && *found != std::string(5000, 'y');
  }
  for (std::thread& writer : writers) { writer.join(); }
  CHECK(wrong == 0);
  CHECK(cache.find({"a"}) == std::string(5000, 'y'));
}
