// Programs of the CUDA Toolkit: ptxas, which assembles PTX, and nvcc, which compiles CUDA C in place of NVRTC. They run within limits of time and memory, in a
// folder of their own. Neither needs a GPU.
#pragma once

#include <string>

#include "runtime/devices/nvrtc.h"
#include "support/diagnostic.h"

namespace loopsmith::runtime {

/// The path of a program of the toolkit, "ptxas" or "nvcc": below CUDA_PATH, CUDA_HOME, in PATH, or below /usr/local/cuda. Empty: it is not installed.
[[nodiscard]] auto find_cuda_tool(const std::string& name) -> std::string;
/// A text that changes with the program; "none" where it is not installed.
[[nodiscard]] auto cuda_tool_identity(const std::string& name) -> std::string;

/// PTX as a cubin for an architecture. An error where ptxas is not installed or refuses the text.
[[nodiscard]] auto assemble_ptx(const std::string& ptx, const std::string& arch, double seconds = 60) -> Result<std::string>;

/// Compiles a text of kernels by nvcc. An error where nvcc cannot be started or does not end.
[[nodiscard]] auto compile_by_nvcc(const std::string& source, const CudaOptions& options, double seconds = 60) -> Result<CompiledText>;

}  // namespace loopsmith::runtime
