// The resources of a kernel: threads per block, shared memory, and the occupancy of a multiprocessor.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::lsp {

/// For each kernel of a program: "128 threads, 34 KB shared, occupancy at most 50 % (shared memory)"; beyond a limit of the target
/// "2048 threads: sm_80 allows 1024". Empty: no loop is bound to threads, or the program cannot be lowered. Registers are not known before a
/// kernel is compiled, so the occupancy is an upper bound. `target`: as written in the file; for other targets than GPUs, CUDA's default is used.
[[nodiscard]] auto kernel_budgets_in_words(const IRModule& module, const std::string& target) -> std::vector<std::string>;

}  // namespace loopsmith::lsp
