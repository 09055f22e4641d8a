// Random programs for devices, as text: larger than those of programs.h, so that their loops fill blocks of threads.
#pragma once

#include <string>

#include "tests/gate/random.h"

namespace loopsmith::gate {

/// Maps, chains of maps, transposes, stencils, reductions of rows and of whole tensors, matrix products with an epilogue, normalisations of rows,
/// and convolutions, with sizes that blocks of threads divide and others; kernels with asynchronous copies. Every fourth program is one of programs.h.
[[nodiscard]] auto random_device_program(Random& random) -> std::string;

}  // namespace loopsmith::gate
