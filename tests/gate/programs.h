// Random programs as text: chains of stages over small tensors, each reading what came before.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "schedule/intrinsics.h"
#include "tests/gate/random.h"

namespace loopsmith::gate {

/// Elementwise chains, reductions of one or two values, matmuls, convolutions with padding, pooling, softmax shapes, gathers,
/// triangular and symbolic domains, blocks in blocks, blocks that leave elements alone, several blocks in a nest, opaque blocks,
/// views, updates whose order matters, tiles that a tensor intrinsic computes, loops bound to threads, a second function; all types
/// of elements. Indices that are read from a tensor are kept in range.
struct Generated {
  std::string units;           // tensor intrinsics for it, with their registration; mostly empty
  std::string program;
};
[[nodiscard]] auto random_program(Random& random) -> Generated;

/// The same with loops of int64, and iter vars with them; it may mix types that a script may not, and has an error then.
[[nodiscard]] auto with_wide_loops(const std::string& program) -> std::string;
/// The same program as later versions spell it, some of whose rules are others: `T.sblock`.
[[nodiscard]] auto spelled_recently(const std::string& program) -> std::string;

/// None where the text has an error; `problem` says which.
[[nodiscard]] auto parse_program(const std::string& text, std::string& problem) -> IRModule;

/// Tensor intrinsics that a text registers; null where there are none, or where it has an error.
using Units = std::shared_ptr<const std::vector<schedule::TensorIntrin>>;
[[nodiscard]] auto parse_units(const std::string& text, std::string& problem) -> Units;

/// The text of a program without what reading it back finds again: regions, headers, the root block.
[[nodiscard]] auto short_text(const IRModule& module) -> std::string;

}  // namespace loopsmith::gate
