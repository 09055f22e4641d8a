// Extents of loops as text for people: a constant prints as a plain number, also in programs with 64-bit indices.
#pragma once

#include <string>

#include "ir/ir.h"

namespace loopsmith::schedule {

/// "16", "n * 4": without the types of constants, where the script has `T.int64(16)`.
[[nodiscard]] auto extent_text(const Expr& extent) -> std::string;

}  // namespace loopsmith::schedule
