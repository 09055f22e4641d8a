// The draft model: see draft.h.
#include "cost/draft.h"

#include <algorithm>
#include <cmath>

namespace loopsmith::cost {
namespace {

// The part of the smaller terms that does not overlap with the largest.
constexpr double exposed = 0.25;
// The part of a cache that a tile can use.
constexpr double usable = 0.75;
constexpr double line = 64;

// The bytes that an access touches in the loops from `depth` inwards, in whole cache lines along the last dimension.
auto footprint(const Nest& nest, const NestAccess& access, size_t depth) -> double {
  double bytes = 1;
  for (size_t d = 0; d < access.strides.size(); ++d) {
    double reach = 1;
    for (size_t l = depth; l < nest.loops.size(); ++l) {
      reach += static_cast<double>(std::abs(access.strides[d][l])) * static_cast<double>(nest.loops[l].extent - 1);
    }
    if (d < access.shape.size() && access.shape[d] > 0) { reach = std::min(reach, static_cast<double>(access.shape[d])); }
    bool last = d + 1 == access.strides.size();
    bytes *= last ? std::max(reach * access.bytes, 1.0) : reach;
    if (last && bytes > 0) {
      double run = reach * access.bytes;
      double rows = bytes / run;
      // An unaligned run touches half a line more on average.
      double rounded = access.is_packed ? run : run <= line ? line : run + line / 2;
      bytes = rows * rounded;
      // Rows at distances of whole pages share a few sets of a cache.
      if (!access.is_packed && rows > 8 && !access.shape.empty() && access.shape.size() > 1 &&
          (access.shape.back() * access.bytes) % 4096 == 0 && run < 4096) {
        bytes *= 2;
      }
    }
  }
  return bytes;
}

auto depends_on(const NestAccess& access, size_t loop) -> bool {
  for (const auto& dimension : access.strides) {
    if (dimension[loop] != 0) { return true; }
  }
  return false;
}

// The bytes that the whole nest fetches into a cache of that size.
auto traffic(const Nest& nest, double size) -> double {
  size_t count = nest.loops.size();
  size_t depth = count;
  std::vector<double> inside(nest.accesses.size());
  for (size_t d = 0; d <= count; ++d) {
    double total = 0;
    for (const NestAccess& access : nest.accesses) { total += footprint(nest, access, d); }
    if (total <= size * usable) { depth = d; break; }
  }
  double bytes = 0;
  for (const NestAccess& access : nest.accesses) {
    double runs = 1;
    // Goes outwards from the tile that fits. Loops that do not move this access keep its data in the cache, as long as no
    // other data evicts it; only the loops directly around the tile do.
    bool direct = true;
    for (size_t l = depth; l-- > 0;) {
      if (direct && !depends_on(access, l)) { continue; }
      direct = false;
      runs *= static_cast<double>(nest.loops[l].extent);
    }
    bytes += runs * footprint(nest, access, depth) * (access.is_write ? 2 : 1);
  }
  return bytes;
}

}  // namespace

auto core_model(const target::Hardware& hardware) -> CoreModel {
  CoreModel core;
  core.lanes = std::max(1, hardware.vector_bits / 32);
  core.registers = hardware.vector_registers;
  core.cores = std::max(1, hardware.cores);
  if (hardware.l1.bytes) { core.l1 = static_cast<double>(hardware.l1.bytes); }
  if (hardware.l2.bytes) { core.l2 = static_cast<double>(hardware.l2.bytes) / std::max(1, hardware.l2.shared_by / 2); }
  if (hardware.l3.bytes) { core.l3 = static_cast<double>(hardware.l3.bytes); }
  // Without 512-bit registers, two ports multiply-add 256 bits each; with them, one or two ports do 512 bits,
  // depending on the processor. The ratio between candidates hardly depends on it.
  core.vector_fma = hardware.avx512 ? 1.5 : 2;
  return core;
}

auto draft_seconds(const Nest& nest, const CoreModel& core) -> double {
  double iterations = 1;
  double parallel = 1;
  double vector = 1;
  double accumulators = 1;
  double unrolled = 1;
  size_t first_inner = nest.loops.size();
  for (size_t l = 0; l < nest.loops.size(); ++l) {
    const NestLoop& loop = nest.loops[l];
    auto extent = static_cast<double>(loop.extent);
    iterations *= extent;
    if (loop.is_parallel) { parallel *= extent; }
    if (loop.is_vector) { vector *= extent; }
    if (loop.is_unrolled) { unrolled *= extent; }
    if ((loop.is_vector || loop.is_unrolled) && !loop.is_reduction) { first_inner = std::min(first_inner, l); }
  }
  double vectors = std::ceil(vector / core.lanes);
  accumulators = vectors * std::max(1.0, unrolled);

  // Arithmetic: instructions for all vectors of the register tile, plus the cost of latency and spills.
  double operations = iterations * nest.flops_per_iteration / (nest.is_multiply_add ? 2 : 1);
  double instructions = operations / vector * vectors;
  double in_flight = std::min(1.0, accumulators / (core.fma_latency * core.vector_fma));
  double fma_cycles = instructions / (core.vector_fma * in_flight);

  // Loads into registers per run of the register tile: a vector access loads vectors, other accesses load scalars.
  double loads = 0;
  double live = accumulators;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_registers) { continue; }
    double distinct = 1;
    bool moves_with_vector = false;
    bool contiguous = true;
    for (size_t l = first_inner; l < nest.loops.size(); ++l) {
      if (!depends_on(access, l)) { continue; }
      if (nest.loops[l].is_vector) {
        moves_with_vector = true;
        for (size_t d = 0; d < access.strides.size(); ++d) {
          int64_t expected = d + 1 == access.strides.size() ? 1 : 0;
          if (access.strides[d][l] != expected) { contiguous = false; }
        }
      } else {
        distinct *= static_cast<double>(nest.loops[l].extent);
      }
    }
    double each = !moves_with_vector ? 1 : contiguous ? vectors : vector;  // a gather needs a load per lane
    loads += distinct * each * (access.is_write ? 2 : 1);
    live += moves_with_vector ? vectors : 0;
  }
  double tile = std::max(1.0, unrolled) * vector;
  double load_cycles = loads * (iterations / tile) / core.vector_loads;
  double registers = live + 1;
  if (registers > core.registers) {
    // Each accumulator beyond the registers is stored and loaded once per step.
    load_cycles += (registers - core.registers) * 2 * (iterations / tile) / core.vector_loads;
    fma_cycles *= 1 + 0.5 * (registers - core.registers) / core.registers;
  }

  double l2_cycles = traffic(nest, core.l1) / core.l2_bytes;
  double l3_cycles = traffic(nest, core.l2) / core.l3_bytes;
  double memory_cycles = (traffic(nest, core.l3)) / core.memory_bytes;
  double copy_cycles = nest.extra_bytes / core.l3_bytes * 2;

  double terms[] = {fma_cycles, load_cycles, l2_cycles, l3_cycles, memory_cycles};
  double largest = *std::max_element(std::begin(terms), std::end(terms));
  double total = 0;
  for (double term : terms) { total += term; }
  double cycles = (largest + exposed * (total - largest) + copy_cycles) * nest.waste;

  double tasks = std::max(1.0, parallel);
  double rounds = std::ceil(tasks / core.cores);
  double share = rounds / tasks;                      // the busiest core's part of the work
  // All cores share the memory: its bandwidth does not grow with their number.
  double seconds = cycles * share / core.clock;
  seconds = std::max(seconds, memory_cycles / core.clock * 0.6);
  double overhead = parallel > 1 ? core.fork_seconds + tasks * 5e-8 : 0;
  return seconds + overhead;
}

}  // namespace loopsmith::cost
