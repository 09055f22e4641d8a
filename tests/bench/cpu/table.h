// The table of kernels scheduled by hand (examples/matmul_1024.tir, kernels/*.tir) beside their peers and the machine's peaks.
#pragma once

#include <string_view>

#include "support/diagnostic.h"

namespace loopsmith::bench {

/// Prints it row by row; only rows whose name contains `word`.
[[nodiscard]] auto table(std::string_view word) -> Status;

}  // namespace loopsmith::bench
