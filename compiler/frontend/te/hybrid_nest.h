// Hybrid functions whose loops are those of `te.compute`: schedules may then change them.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::frontend::te {

/// The value of each element of an output: `sum` of `value` over `reduce_axis`, or `value` where there is none.
struct HybridNest {
  std::vector<IterVar> axis, reduce_axis;
  Expr value;
};
/// The nest in a statement of serial loops over all elements of `output`, in the order of its dimensions, around one store of an element; or around `output[i, j] = 0` and further serial loops around
/// `output[i, j] += value`. `inputs`: the buffers of tensors, each with the one that the statement reads, which the value no longer does. None: other statements.
[[nodiscard]] auto hybrid_nest(const Stmt& statement, const Buffer& output, const std::vector<std::pair<Buffer, Buffer>>& inputs) -> std::optional<HybridNest>;

}  // namespace loopsmith::frontend::te
