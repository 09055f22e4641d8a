// The layout of a buffer in which an access runs through memory in the order of the loops around, as TVM's SuggestIndexMap finds it.
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::tune::metaschedule {

/// `loops`: around the access, the outermost first; the indices are in terms of their variables. None: the access is not affine.
[[nodiscard]] auto suggest_layout(const Buffer& buffer, const std::vector<Expr>& indices, const std::vector<const For*>& loops, const Expr& predicate) -> std::optional<IndexMap>;

}  // namespace loopsmith::tune::metaschedule
