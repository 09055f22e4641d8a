// The draft: an estimate of a tiled loop nest's time, from loop extents and access patterns alone. It needs no IR, takes
// about a microsecond, and ranks thousands of points of a design space before any of them is compiled.
//
// The model is a roofline per level of memory: arithmetic, loads into registers, and the traffic into each cache, each
// as a time for one core. The largest counts in full, the others in part, because they overlap imperfectly. Footprints
// determine the traffic: for each cache, the model finds the outermost group of loops whose data fits; that data is
// determine the traffic: for each cache, the model finds the outermost group of loops whose data fits; that data is
// target/hardware.h and the constants below; the residual model (residual.h) learns the rest from measurements.
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
  double l2_bytes = 32, l3_bytes = 16, memory_bytes = 6;   // bytes per cycle, from this level into the nearer one
  int cores = 1;
  double fork_seconds = 3e-6;       // cost of a parallel loop
  bool is_device = false;           // a GPU: nothing is estimated
};
[[nodiscard]] auto core_model(const target::Hardware& hardware) -> CoreModel;

/// An access: for each dimension of the buffer, the coefficients of the loops in its index.
struct NestAccess {
  int bytes = 4;                                // of an element
  std::vector<std::vector<int64_t>> strides;    // [dimension][loop]; 0: the index does not use the loop
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
  double waste = 1;                 // executed iterations / needed iterations (more than 1 for imperfect tiles)
  double extra_bytes = 0;           // other traffic of all cores: packing, initialisation, epilogues
  bool is_multiply_add = true;
};

/// The estimated time in seconds.
[[nodiscard]] auto draft_seconds(const Nest& nest, const CoreModel& core) -> double;

}  // namespace loopsmith::cost
