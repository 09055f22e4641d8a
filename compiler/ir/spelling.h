// The names of data types in TVM since 0.21, which the newer dialect prints.
#pragma once

#include <string>

#include "ir/dtype.h"

namespace loopsmith {

/// "float8_e4m3fn", which `DataType::str` calls "e4m3_float8"; others as they are.
[[nodiscard]] auto recent_spelling(DataType type) -> std::string;

}  // namespace loopsmith
