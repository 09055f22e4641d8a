// Limits of GPUs: a table for NVIDIA's architectures, and TVM's names of cards (`nvidia/nvidia-a100`). An installed device reports its own limits
// (runtime/devices/device.h).
//
// Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability"; cuda_occupancy.h of the CUDA Toolkit 13.0 for the
// granularity of allocations. Names of cards: TVM's src/target/tag.cc; counts of multiprocessors: NVIDIA's data sheets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "target/target.h"

namespace loopsmith::target {

/// The limits of a kernel, in bytes and counts; 0: unknown.
struct GpuLimits {
  std::string name;                       // "sm_80", or the name of a device
  uint64_t block_threads = 0;
  std::array<uint64_t, 3> block_sizes{};  // the most threads in x, y and z
  std::array<uint64_t, 3> grid_sizes{};   // the most blocks in x, y and z
  uint64_t warp = 0;                      // threads that run in step
  uint64_t shared_static = 0;             // shared memory of a block that its kernel declares
  uint64_t shared_most = 0;               // shared memory of a block that its launch requests, including the static part
  uint64_t thread_registers = 0;          // of 32 bits
  uint64_t thread_bytes = 0;              // local memory of a thread; 0: unknown
  // The resources of a multiprocessor, for occupancy.
  uint64_t unit_threads = 0;
  uint64_t unit_blocks = 0;
  uint64_t unit_registers = 0;
  uint64_t unit_shared = 0;
  uint64_t units = 0;                     // multiprocessors of the card
};

/// The oldest architecture for which CUDA 13 compiles.
inline constexpr std::string_view oldest_cuda_arch = "sm_75";
inline constexpr std::string_view default_cuda_arch = "sm_80";

struct CudaArch {
  std::string_view name;          // "sm_90"
  std::string_view generation;    // "Hopper"
  std::string_view suffixes;      // letters that may follow: `a` for this architecture alone, `f` for its family
  uint64_t unit_threads;
  uint64_t unit_blocks;
  uint64_t unit_shared;
  uint64_t shared_most;
};
[[nodiscard]] auto cuda_archs() -> std::span<const CudaArch>;
/// The row of an architecture, with or without its letter; null for others.
[[nodiscard]] auto find_cuda_arch(std::string_view arch) -> const CudaArch*;

/// A card by TVM's name.
struct CudaCard {
  std::string_view name;          // "nvidia/nvidia-a100"
  std::string_view arch;
  uint64_t units;                 // multiprocessors; 0: unknown
};
[[nodiscard]] auto find_cuda_card(std::string_view name) -> std::optional<CudaCard>;

/// The architecture of a target of the kinds `cuda` and `nvptx`: `-arch` or `-mcpu`, else the default.
[[nodiscard]] auto cuda_arch(const Target& target) -> std::string;

/// True for targets whose kernels a device of a machine runs: `cuda` and `opencl`.
[[nodiscard]] auto is_device_target(const Target& target) -> bool;

/// True where threads can copy from global to shared memory while they go on (`cp.async`, sm_80 and later).
[[nodiscard]] auto has_async_copies(const Target& target) -> bool;

/// Checks the architecture of a GPU target. The error lists the known ones, or names the oldest one that the toolkit compiles for.
[[nodiscard]] auto check_gpu(const Target& target) -> Status;

/// The limits of a target from the table, lowered by its options `-max_threads_per_block` and `-max_num_threads`. None: they depend on the device.
[[nodiscard]] auto gpu_limits(const Target& target) -> std::optional<GpuLimits>;

/// The share of a multiprocessor's warps that can be resident, and the resource that limits it.
struct Occupancy {
  uint64_t blocks = 0;            // resident blocks of a multiprocessor
  double share = 0;               // 0 to 1
  std::string_view limiter;       // "threads", "blocks", "registers" or "shared memory"
};
[[nodiscard]] auto occupancy(const GpuLimits& limits, uint64_t block_threads, uint64_t registers, uint64_t shared_bytes) -> Occupancy;

}  // namespace loopsmith::target
