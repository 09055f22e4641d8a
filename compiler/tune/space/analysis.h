// Facts about an unscheduled function for the rules of the design space: its blocks, their loops, the accessed buffers with their strides, producers
// and consumers.
#pragma once

#include <string>
#include <vector>

#include "schedule/state.h"

namespace loopsmith::tune {

struct LoopFact {
  NodeId id = 0;
  std::string name;
  int64_t extent = 0;
  bool is_reduction = false;
};

struct AccessFact {
  const BufferNode* buffer = nullptr;
  bool is_write = false;
  bool is_affine = true;                       // every index is a sum of loops times constants
  std::vector<std::vector<int64_t>> strides;   // [dimension][loop of the block]
  std::vector<int64_t> shape;                  // 0: not constant
  int bytes = 4;
};

struct BlockFact {
  NodeId id = 0;
  std::string name;
  std::vector<LoopFact> loops;                 // all loops around the block, outermost first
  std::vector<AccessFact> accesses;
  double flops = 0;                            // of one instance
  double instances = 1;
  bool is_simple = false;                      // constant loops from 0, each bound to exactly one iter var, predicate true
  bool has_reduction = false;
  bool is_output = false;                      // writes a parameter
  bool is_multiply_add = false;                // c = c + a * b
  bool uses_branch = false;                    // if_then_else or select in its value
  bool is_expensive = false;                   // calls exp or similar functions
  std::vector<size_t> producers, consumers;    // by index
};

/// The blocks of a function in the order of the text, without blocks inside other blocks.
[[nodiscard]] auto analyze(const schedule::FuncState& func) -> std::vector<BlockFact>;

/// True for a reduction that reads some element in several iterations of a spatial loop, as matrix products and convolutions do.
[[nodiscard]] auto reuses_data(const BlockFact& block) -> bool;

}  // namespace loopsmith::tune
