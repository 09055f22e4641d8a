// The nodes that compute, for counts of arithmetic: the interpreter counts executed operations, the cost room expected ones.
#pragma once

#include <optional>

#include "ir/ir.h"

namespace loopsmith {

/// The type that a node alone computes in, its operands aside: of arithmetic, comparisons and calls of maths. None: it moves, converts,
/// chooses, reads or is a constant.
[[nodiscard]] auto computes_in(const Expr& e) -> std::optional<DataType>;

}  // namespace loopsmith
