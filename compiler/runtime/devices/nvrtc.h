// NVIDIA's run-time compiler for CUDA C, NVRTC: libnvrtc.so, loaded on first use. Compiling needs no GPU.
// https://docs.nvidia.com/cuda/nvrtc
#pragma once

#include <string>

#include "support/diagnostic.h"

namespace loopsmith::runtime {

enum class CudaForm : uint8_t { Ptx, Cubin };

struct CudaOptions {
  std::string arch = "sm_80";          // the GPU's architecture; sm_90a and others with a letter are for that architecture alone
  CudaForm form = CudaForm::Cubin;
  bool line_info = false;              // line numbers for profilers, those of `#line`
};

/// The compiler's version, as "13.0"; an error names what is missing.
[[nodiscard]] auto nvrtc_version() -> Result<std::string>;

/// Compiles a text of kernels. The compiler's messages come as the error.
[[nodiscard]] auto compile_cuda(const std::string& source, const CudaOptions& options) -> Result<std::string>;

}  // namespace loopsmith::runtime
