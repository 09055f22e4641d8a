// Limits of devices, checked before code is made and before kernels are launched: threads of a block, sizes of blocks and grids, shared memory.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"
#include "target/gpu.h"

namespace loopsmith::runtime {

/// The constant part of a kernel's launch.
struct KernelShape {
  struct Axis { std::optional<int64_t> extent; Origin origin; };
  struct Memory { std::string name; uint64_t bytes = 0; bool is_dynamic = false; Origin origin; };   // dynamic: the launch of a CUDA kernel requests it
  std::string name;
  Origin origin;
  std::array<Axis, 3> grid, block;          // extent 1 if the kernel does not have the axis
  std::vector<Memory> shared;
  std::vector<Memory> own;                  // arrays of each thread, in registers or local memory

  /// The threads of a block; none if an extent is not constant.
  [[nodiscard]] auto block_threads() const -> std::optional<uint64_t>;
  [[nodiscard]] auto shared_bytes(bool with_dynamic = true) const -> uint64_t;
};

/// The kernels of a module after split_host_device, in its order; before that stage the functions with thread-bound loops.
[[nodiscard]] auto kernel_shapes(const IRModule& module) -> std::vector<KernelShape>;

/// Errors at loops and allocations that exceed the limits. `target`: the target or device in the messages.
[[nodiscard]] auto check_kernels(const IRModule& module, const target::GpuLimits& limits, std::string_view target) -> Status;
/// The same with the limits in the target's table; always ok for other targets.
[[nodiscard]] auto check_kernels(const IRModule& module, const target::Target& target) -> Status;

}  // namespace loopsmith::runtime
