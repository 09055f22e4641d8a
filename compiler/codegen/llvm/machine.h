// LLVM's idea of a target: processors, features, the TargetMachine. Private to codegen/llvm.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "codegen/llvm/codegen.h"

namespace loopsmith::codegen {

/// Registers the targets we emit; once.
void initialize_llvm();

[[nodiscard]] auto make_machine(const target::Target& target, const CodegenOptions& options) -> Result<std::unique_ptr<llvm::TargetMachine>>;

/// The level asked for: the options', else the target's, else 2.
[[nodiscard]] auto opt_level(const target::Target& target, const CodegenOptions& options) -> int;

}  // namespace loopsmith::codegen
