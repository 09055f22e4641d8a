// The sizes of a program that its callers choose: shape variables, and scalar parameters that are sizes of buffers.
#pragma once

#include <string>
#include <vector>

#include "codegen/interface.h"

namespace loopsmith::codegen {

/// True for a slot that the shape of a buffer uses.
[[nodiscard]] auto is_size(const Interface& interface, size_t slot) -> bool;

/// The names of the sizes: of the scalar parameters first, then of the shape variables. Empty for a program whose shapes are numbers.
[[nodiscard]] auto size_names(const PrimFunc& func) -> std::vector<std::string>;

}  // namespace loopsmith::codegen
