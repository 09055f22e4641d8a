// The draft: how long a tiled loop nest should take, from loop extents and access patterns alone. It sees no IR, costs
// about a microsecond, and ranks thousands of points of a design space before anything is built.
//
// The model is a roofline per level of memory: arithmetic, loads into registers, and the traffic into each cache, each
// as a time for one core; the largest counts in full, the others in part (they overlap, not perfectly). Traffic
// is counted by footprints: at each cache, the outermost group of loops whose data fits is found; what it touches
// is fetched once per run of it, less what the loop just around it reuses. Rates come from target/hardware.h and the
// constants below; what they miss, the residual model (residual.h) learns from measurements.
#pragma once

#include <cstdint>
#include <vector>

#include "target/hardware.h"

namespace loopsmith::cost {

/// Rates of one core, in units per cycle, and sizes in bytes.
struct CoreModel {
  double clock = 3.0e9;             // cycles per second
  double lanes = 16;                // float32 lanes of a vector
  double vector_fma = 1;            // vector multiply-adds per cycle
  double vector_loads = 2;          // vector loads per cycle
  double fma_latency = 4;           // cycles
  int registers = 32;               // vector registers
  double l1 = 32 << 10, l2 = 1 << 20, l3 = 16 << 20;
  double l2_bytes = 32, l3_bytes = 16, memory_bytes = 6;   // bytes per cycle into the level above
  int cores = 1;
  double fork_seconds = 3e-6;       // cost of a parallel loop
  bool is_device = false;           // no core at all: nothing is estimated
};
[[nodiscard]] auto core_model(const target::Hardware& hardware) -> CoreModel;

/// One access: for each dimension of the buffer, the coefficients of the loops in its index.
struct NestAccess {
  int bytes = 4;                                // of an element
  std::vector<std::vector<int64_t>> strides;    // [dimension][loop], coefficient; 0: not there
  std::vector<int64_t> shape;                   // of the buffer, or of the tile it is packed into
  bool is_write = false;
  bool in_registers = false;                    // held in registers by the innermost loops
  bool is_packed = false;                       // copied to a compact tile before use
};

/// A perfect nest, outermost loop first. `Vector` loops are innermost.
struct NestLoop {
  int64_t extent = 1;
  bool is_parallel = false;
  bool is_unrolled = false;
  bool is_vector = false;
  bool is_reduction = false;
};

struct Nest {
  std::vector<NestLoop> loops;
  std::vector<NestAccess> accesses;
  double flops_per_iteration = 2;   // of the innermost body
  double waste = 1;                 // iterations run over iterations needed (imperfect tiles)
  double extra_bytes = 0;           // copied elsewhere: packing, initialisation, epilogues; all cores together
  bool is_multiply_add = true;
};

/// Seconds.
[[nodiscard]] auto draft_seconds(const Nest& nest, const CoreModel& core) -> double;

}  // namespace loopsmith::cost
