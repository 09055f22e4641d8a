// NVIDIA's run-time compiler for CUDA C, NVRTC: libnvrtc.so, loaded on first use. Compiling needs no GPU.
// https://docs.nvidia.com/cuda/nvrtc
#pragma once

#include <optional>
#include <string>

#include "support/diagnostic.h"

namespace loopsmith::runtime {

enum class CudaForm : uint8_t { Ptx, Cubin };

struct CudaOptions {
  std::string arch = "sm_80";          // the GPU's architecture; sm_90a and others with a letter are for exactly that architecture
  CudaForm form = CudaForm::Cubin;
  bool line_info = false;              // line numbers for profilers, those of `#line`
  bool by_nvcc = false;                // the program nvcc compiles in place of NVRTC
};

/// The compiler's library: the first one below CUDA_PATH, CUDA_HOME, the folders of LD_LIBRARY_PATH, /usr/local/cuda and the system's folders. Checks
/// names of files only; empty: none was found.
[[nodiscard]] auto nvrtc_library() -> std::string;
/// The major version, from the library's name.
[[nodiscard]] auto nvrtc_major() -> std::optional<int>;
/// A text that changes with the library, without loading it.
[[nodiscard]] auto nvrtc_identity() -> std::string;
/// The error if there is no library.
[[nodiscard]] auto nvrtc_missing(std::string why = "libnvrtc.so was not found") -> Diagnostic;

/// The compiler's version, as "13.0"; loads it. An error names the missing part.
[[nodiscard]] auto nvrtc_version() -> Result<std::string>;

struct CompiledText {
  bool is_compiled = false;
  std::string code = {};       // PTX or a cubin
  std::string log = {};        // messages; for a cubin also the report of `ptxas -v`
};
/// Compiles a text of kernels in this process, with the library at `path`. An error if the library cannot be used.
[[nodiscard]] auto compile_cuda(const std::string& path, const std::string& source, const CudaOptions& options) -> Result<CompiledText>;

}  // namespace loopsmith::runtime
