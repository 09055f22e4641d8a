// The namespace `tvm.contrib`.
#pragma once

#include "frontend/objects.h"

namespace loopsmith::frontend {

[[nodiscard]] auto namespace_contrib() -> Value;

}  // namespace loopsmith::frontend
