// The names of data types in TVM since 0.21, which the newer dialect prints.
#pragma once

#include <string>

#include "ir/dtype.h"

namespace loopsmith {

/// "float8_e4m3fn" for the type that `DataType::str` calls "e4m3_float8"; the same as `str` for other types.
[[nodiscard]] auto recent_spelling(DataType type) -> std::string;

}  // namespace loopsmith
