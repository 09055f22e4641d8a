// The estimated time of a call whose loops are bound to blocks and threads of a GPU, from the schedule alone: it ranks kernels before any of them is
// compiled, and where no device is.
//
// Each nest of bound loops is a kernel. Its time is the largest of five: arithmetic, issued instructions, words of shared memory, sectors through the
// second-level cache, bytes of global memory. Each is stretched by the share of the card that works: the last wave of blocks, too few resident warps. An access
// does not repeat over the innermost serial loops that it does not depend on, because the compiler keeps the element in a register. Blocks that are annotated
// for a tensor intrinsic are operations of a whole warp: products on matrix units, and loads and stores of their operands.
//
// The model serves to compare schedules of one program; absolute seconds may be wrong by a factor.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/ir.h"
#include "target/gpu.h"

namespace loopsmith::cost {

/// Rates of a GPU.
struct GpuModel {
  target::GpuLimits limits;
  double clock = 1.4e9;              // cycles per second
  double lanes = 64;                 // float32 multiply-adds of a multiprocessor per cycle
  double matrix = 512;               // multiply-adds of 16 bits by the matrix units of a multiprocessor per cycle
  double memory_bytes = 1.0e12;      // of global memory, per second
  double cache_bytes = 3.0e12;       // of the second-level cache, per second
};
/// The rates of a target's architecture, or of a card of middle size if the target does not name one.
[[nodiscard]] auto gpu_model(const target::Target& target) -> GpuModel;

/// The seconds of a call of a function before lowering. `registers` of a thread, as the compiler reports them; 0: unknown. None if an extent is not constant or
/// nothing is bound to threads; infinity if a kernel exceeds a limit of the device.
[[nodiscard]] auto kernel_seconds(const PrimFunc& function, const GpuModel& model, uint64_t registers = 0) -> std::optional<double>;

}  // namespace loopsmith::cost
