// The properties of CUDA kernels that their compiler knows without a device: threads of a block, registers, spills, shared memory, occupancy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "runtime/devices/cuda_compiler.h"
#include "support/diagnostic.h"
#include "target/gpu.h"
#include "target/target.h"

namespace loopsmith::runtime {

struct StaticFigures {
  std::string kernel;
  std::optional<uint64_t> block_threads;   // none: not constant
  KernelFigures used;
  target::Occupancy occupancy;
};
/// The kernels of a module after split_host_device, compiled for a CUDA target.
[[nodiscard]] auto static_figures(const IRModule& lowered, const target::Target& target) -> Result<std::vector<StaticFigures>>;
/// "matmul_kernel: 256 threads, 96 registers, no spills, 8 KB shared, occupancy 50% (registers)"
[[nodiscard]] auto text_of(const StaticFigures& figures) -> std::string;

}  // namespace loopsmith::runtime
