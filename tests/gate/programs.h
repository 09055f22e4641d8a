// Random programs as text: chains of stages over small tensors, each reading what came before.
#pragma once

#include <string>

#include "ir/ir.h"
#include "tests/gate/random.h"

namespace loopsmith::gate {

/// Elementwise chains, reductions of one or two values, matmuls, convolutions with padding, pooling, softmax shapes, gathers,
/// triangular and symbolic domains, blocks in blocks, blocks that leave elements alone, several blocks in a nest, opaque blocks, views, loops bound to threads, a second function; all
/// types of elements. Indices that are read from a tensor are kept in range.
[[nodiscard]] auto random_program(Random& random) -> std::string;

/// None where the text has an error; `problem` says which.
[[nodiscard]] auto parse_program(const std::string& text, std::string& problem) -> IRModule;

/// The text of a program without what reading it back finds again: regions, headers, the root block.
[[nodiscard]] auto short_text(const IRModule& module) -> std::string;

}  // namespace loopsmith::gate
