// Stores to buffers as statements of scripts.
#pragma once

#include <vector>

#include "frontend/objects.h"

namespace loopsmith::frontend {

/// A store of a value that fits the type of the buffer, or is converted to it; null: it does not fit, or a part is unknown. The former was reported.
[[nodiscard]] auto store_of(Evaluator& evaluator, const Buffer& buffer, const std::vector<Argument>& indices, const Argument& value, Origin where) -> Stmt;

}  // namespace loopsmith::frontend
