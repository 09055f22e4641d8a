// LLVM's side of a target: processors, features, the TargetMachine. Private to codegen/llvm.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <string>

#include "codegen/llvm/codegen.h"

namespace loopsmith::codegen {

/// Registers the supported targets with LLVM, once.
void initialize_llvm();

/// The calling thread's TargetMachine for a target. Creating one and its tables of legal operations takes a
/// millisecond, so the last one is kept. Valid until the thread's next call.
[[nodiscard]] auto machine_for(const target::Target& target, const CodegenOptions& options) -> Result<llvm::TargetMachine*>;

/// Forgets the calling thread's TargetMachine without destroying it: LLVM crashed while it was in use.
void forget_machine();

/// The optimisation level: that of the options, else the target's, else 2.
[[nodiscard]] auto opt_level(const target::Target& target, const CodegenOptions& options) -> int;

}  // namespace loopsmith::codegen
