// Runs LLVM's IR passes. Private to codegen/llvm.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "support/diagnostic.h"

namespace loopsmith::codegen {

/// `pipeline` in the syntax of `opt -passes=`; empty: the short list for the level (none for 0).
[[nodiscard]] auto run_passes(llvm::Module& module, llvm::TargetMachine& machine, int level, const std::string& pipeline) -> Status;

}  // namespace loopsmith::codegen
