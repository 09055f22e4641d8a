// The structural hash of programs as TVM 0.19 computes it on 64-bit Linux, by which its tuning database finds a program. Names of variables, loops and
// blocks do not count.
#pragma once

#include <cstdint>

#include "ir/ir.h"

namespace loopsmith::tune::metaschedule {

[[nodiscard]] auto tvm_structural_hash(const IRModule& module) -> uint64_t;

}  // namespace loopsmith::tune::metaschedule
