// The launches of a program's kernels, read off the calls of its host functions: for the runtime, for host functions as C, and for hosts that launch emitted
// code themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/source/source.h"
#include "ir/ir.h"

namespace loopsmith::codegen {

/// One launch. Extents and values are expressions in the parameters of the host function, or constants.
struct Launch {
  struct Argument {
    std::string name;                  // the kernel's parameter
    DataType dtype;                    // of an element, for a pointer
    bool is_pointer = false;
    Expr value;                        // that the host passes; a variable for a pointer
  };
  Name kernel;
  std::vector<Argument> arguments;     // in the order of the kernel's parameters
  std::vector<Expr> grid, block;       // x, y, z; 1 where a kernel has no such axis
  Expr dynamic_shared_bytes;           // to be requested at the launch; 0: none
};

/// The launch that a call of a host function makes. None: the call names no kernel of the module, or passes fewer values than the kernel needs.
[[nodiscard]] auto launch_of(const IRModuleNode& module, const Call& call, SourceDialect dialect) -> std::optional<Launch>;

/// A launch and the symbol of the host function that makes it.
struct HostLaunch {
  std::string function;
  Launch launch;
};

/// The launches of all host functions of a module after split_host_device, in the order of the text. A launch in a loop of the host is listed once.
[[nodiscard]] auto launches(const IRModule& module, SourceDialect dialect) -> std::vector<HostLaunch>;

}  // namespace loopsmith::codegen
