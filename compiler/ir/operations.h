// The nodes that compute, for counts of arithmetic: the interpreter counts executed operations, the cost room estimates them.
#pragma once

#include <optional>

#include "ir/ir.h"

namespace loopsmith {

/// The type in which a node itself computes, without its operands: for arithmetic, comparisons and calls of maths. None: it moves, converts,
/// chooses, reads, or is a constant.
[[nodiscard]] auto computes_in(const Expr& e) -> std::optional<DataType>;

}  // namespace loopsmith
