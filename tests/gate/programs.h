// Random programs as text: chains of stages over small tensors; each stage reads results of earlier ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "schedule/intrinsics.h"
#include "tests/gate/random.h"

namespace loopsmith::gate {

/// A random program from element-wise chains, reductions of one or two values, matmuls, convolutions with padding, pooling, softmax shapes, gathers,
/// triangular and symbolic domains, blocks in blocks, partial writes, several blocks in a nest, opaque blocks,
/// views, updates whose order matters, tiles that a tensor intrinsic computes, loops bound to threads, a second function; all
/// element types. Indices that are read from a tensor are always in range.
struct Generated {
  std::string units;           // tensor intrinsics for the program, with their registration; usually empty
  std::string program;
};
[[nodiscard]] auto random_program(Random& random) -> Generated;

/// The same program with loops and iter vars of int64. It may mix types in a way that scripts may not; it then has an error.
[[nodiscard]] auto with_wide_loops(const std::string& program) -> std::string;
/// The same program in the spelling of later versions of TVM (`T.sblock`), some of whose rules differ.
[[nodiscard]] auto spelled_recently(const std::string& program) -> std::string;

/// None if the text has an error; `problem` is its message.
[[nodiscard]] auto parse_program(const std::string& text, std::string& problem) -> IRModule;

/// The tensor intrinsics that a text registers; null: none, or the text has an error.
using Units = std::shared_ptr<const std::vector<schedule::TensorIntrin>>;
[[nodiscard]] auto parse_units(const std::string& text, std::string& problem) -> Units;

/// The text of a program without parts that the parser finds again: regions, headers, the root block.
[[nodiscard]] auto short_text(const IRModule& module) -> std::string;

}  // namespace loopsmith::gate
