// What debuggers and profilers are told of code that is made while the program runs. Private to the runtime's LLVM side.
//
// LOOPSMITH_JIT=gdb    gdb and lldb see functions, and lines where code has them, by their interface for such code (__jit_debug_register_code).
// LOOPSMITH_JIT=perf   a file of code and lines for `perf inject --jit` (perf's jitdump), in ~/.debug/jit.
// LOOPSMITH_JIT=map    /tmp/perf-PID.map: names of functions for `perf report`, without anything else to do.
// Several: with commas between.
#pragma once

#include <string>

#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

namespace loopsmith::runtime {

/// Puts the plugins that the environment asks for into the layer; what it could not do, in words.
[[nodiscard]] auto tell_tools(llvm::orc::ExecutionSession& session, llvm::orc::ObjectLinkingLayer& layer) -> std::string;

}  // namespace loopsmith::runtime
