// Compiles CUDA C in a separate process: NVRTC runs in a worker program within limits of time and memory, because a compiler may crash or hang
// on the text of a schedule. Results are kept on disk (cubin_cache.h), and a hit starts no worker and loads no library.
//
// The worker is kept for the next text, since loading NVRTC takes longer than compiling most kernels. Several threads may call; they take turns.
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
  uint64_t shared_bytes = 0;      // declared by the kernel
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

/// Compiles a text of kernels, or takes the code from the cache. An error contains the compiler's messages.
[[nodiscard]] auto compile_cuda_apart(const std::string& source, const CudaOptions& options, const CompileLimits& limits = {}) -> Result<CudaCode>;

/// The work of the program that `compile_cuda_apart` starts (`loopsmith worker --compile-cuda LIBRARY`): replies to texts on standard input.
auto run_cuda_compiler(const std::vector<std::string>& args) -> int;

}  // namespace loopsmith::runtime
