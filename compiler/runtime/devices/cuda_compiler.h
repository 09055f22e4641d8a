// Compiling CUDA C apart from this process: NVRTC runs in a worker program within limits of time and memory, because a compiler may crash or not end
// on the text that a schedule gives it. Results stay on disk (cubin_cache.h), and a hit starts no worker and loads no library.
//
// The worker stays for the next text, since loading NVRTC takes longer than most kernels. Calls may come from several threads; they take turns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/devices/nvrtc.h"
#include "support/diagnostic.h"

namespace loopsmith::runtime {

/// The resources of a compiled kernel, as `ptxas -v` reports them.
struct KernelFigures {
  std::string kernel;
  uint64_t registers = 0;         // of a thread
  uint64_t shared_bytes = 0;      // that the kernel declares
  uint64_t stack_bytes = 0;       // of a thread
  uint64_t spill_stores = 0;      // bytes
  uint64_t spill_loads = 0;
  uint64_t barriers = 0;
};
/// The figures in a compiler's log, in the order of the kernels there.
[[nodiscard]] auto read_figures(const std::string& log) -> std::vector<KernelFigures>;

struct CudaCode {
  std::string code;               // PTX or a cubin
  std::vector<KernelFigures> kernels;
  bool is_cached = false;
};

struct CompileLimits {
  double seconds = 60;
  uint64_t bytes = 4ULL << 30U;
  bool use_cache = true;
};

/// Compiles a text of kernels, or takes the code from the cache. The compiler's messages come as the error.
[[nodiscard]] auto compile_cuda_apart(const std::string& source, const CudaOptions& options, const CompileLimits& limits = {}) -> Result<CudaCode>;

/// The work of the program that `compile_cuda_apart` starts (`loopsmith worker --compile-cuda LIBRARY`): answers texts on standard input.
auto run_cuda_compiler(const std::vector<std::string>& args) -> int;

}  // namespace loopsmith::runtime
