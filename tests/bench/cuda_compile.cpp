// The time to compile a text of CUDA C by NVRTC in its worker, warm, and to find it in the cache:
//
//     loopsmith emit examples/matmul_gpu.tir --with tiled --kind cuda -o matmul.cu
//     bench-cuda-compile matmul.cu [ARCH]
//
// The program is its own worker: it starts a copy of itself.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/devices/cuda_compiler.h"
#include "support/files.h"
#include "support/text.h"

namespace {

auto seconds_for(const std::string& source, const loopsmith::runtime::CudaOptions& options, bool& is_cached) -> double {
  auto start = std::chrono::steady_clock::now();
  auto compiled = loopsmith::runtime::compile_cuda_apart(source, options);
  if (!compiled) {
    std::fprintf(stderr, "%s\n", compiled.diagnostics().front().message().c_str());
    std::exit(1);
  }
  is_cached = compiled->is_cached;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

auto median(std::vector<double> values) -> double {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc > 3 && std::strcmp(argv[1], "worker") == 0) { return loopsmith::runtime::run_cuda_compiler({argv[3]}); }
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench-cuda-compile FILE.cu [ARCH]\n");
    return 2;
  }
  auto text = loopsmith::read_text(argv[1]);
  if (!text) { return 1; }
  const loopsmith::runtime::CudaOptions options{.arch = argc > 2 ? argv[2] : "sm_80"};
  const long now = static_cast<long>(std::chrono::system_clock::now().time_since_epoch().count());
  std::vector<double> compiled, found;
  bool is_cached = false;
  for (int i = 0; i < 21; ++i) {
    // A comment with new text, so that the cache has no entry for it.
    const std::string fresh = "// " + std::to_string(now) + " " + std::to_string(i) + "\n" + *text;
    const double cold = seconds_for(fresh, options, is_cached);
    // The first compilation also loads the compiler, so it is not counted.
    if (i > 0) { compiled.push_back(cold); }
    const double hit = seconds_for(fresh, options, is_cached);
    if (is_cached) { found.push_back(hit); }
  }
  std::printf("compiled, warm: median %s, least %s\n", loopsmith::duration_text(median(compiled)).c_str(), loopsmith::duration_text(*std::min_element(compiled.begin(), compiled.end())).c_str());
  if (!found.empty()) { std::printf("found in the cache: median %s, least %s\n", loopsmith::duration_text(median(found)).c_str(), loopsmith::duration_text(*std::min_element(found.begin(), found.end())).c_str()); }
  return 0;
}
