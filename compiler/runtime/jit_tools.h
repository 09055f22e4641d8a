// Support for debuggers and profilers of code that is compiled at run time. Private to the runtime's LLVM part.
//
// LOOPSMITH_JIT=gdb    gdb and lldb see functions and their lines, through their interface for such code (__jit_debug_register_code).
// LOOPSMITH_JIT=perf   a file of code and lines for `perf inject --jit` (perf's jitdump), in ~/.debug/jit.
// LOOPSMITH_JIT=map    /tmp/perf-PID.map: names of functions for `perf report`, which needs no further step.
// Several values are separated by commas.
#pragma once

#include <string>

#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

namespace loopsmith::runtime {

/// Adds the plugins in the environment variable to the layer. Returns a sentence about those that failed.
[[nodiscard]] auto tell_tools(llvm::orc::ExecutionSession& session, llvm::orc::ObjectLinkingLayer& layer) -> std::string;

}  // namespace loopsmith::runtime
