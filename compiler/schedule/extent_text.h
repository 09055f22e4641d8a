// Extents of loops as a person reads them: in programs with indices of 64 bits, too, a number is a number.
#pragma once

#include <string>

#include "ir/ir.h"

namespace loopsmith::schedule {

/// "16", "n * 4": without the types of constants, where the script has `T.int64(16)`.
[[nodiscard]] auto extent_text(const Expr& extent) -> std::string;

}  // namespace loopsmith::schedule
