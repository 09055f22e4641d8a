// Machine code from flat TIR, through LLVM.
//
// Takes   the output of the lowering pipelines of transform/: loops, allocations, loads and stores with one index (a
//         ramp for vectors), `if`, `while`, lets and asserts; no blocks.
// Gives   LLVM IR, assembly, or a position-independent object with one function per PrimFunc, called as in
//         codegen/interface.h. The same input gives the same bytes.
// Keeps   the order of every reduction. Products may be contracted into sums (fma) unless `contract` is false.
//
// Buffers with different data variables are assumed to be disjoint, unless the function has
// `T.func_attr({"tir.noalias": False})`. This header includes no header of LLVM.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/interface.h"
#include "ir/ir.h"
#include "support/diagnostic.h"
#include "target/target.h"

namespace loopsmith::codegen {

enum class EmitKind : uint8_t { LlvmIR, Assembly, Object };

/// A place in the source text; lines and columns count from 1.
struct SourcePlace {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
};

struct CodegenOptions {
  bool contract = true;       // a * b + c may become one fma
  bool fast_math = false;     // all of LLVM's fast-math flags: reassociation, no NaNs, approximate division
  int opt_level = -1;         // 0: no passes, quickest; 1 to 3: the pass list; -1: the target's level, else 2
  /// The code runs in this process: kernels use its thread pool and its workspace memory. Otherwise the code needs only
  /// libc and libm, and calls `loopsmith_parallel` if the final link has it.
  bool hosted = true;
  /// Functions are visible only inside of the library that the object becomes a part of.
  bool hidden = false;
  /// Buffers that the program allocates start with all bits set (NaN, -1), as in the interpreter: reads of unwritten elements show in results.
  bool fills_allocations = false;
  /// Functions of float32 use the code for GPUs, not the C library; for tests.
  bool without_c_library = false;
  /// The source places of nodes: with them, code has line tables (DWARF) and assembly has line numbers. Empty: no debug information.
  std::function<std::optional<SourcePlace>(const Origin&)> locate = {};
  /// Replaces the pass list of the level, in the syntax of `opt -passes=`; for experiments.
  std::string passes = {};
};

/// Compiles every function of a flat module.
[[nodiscard]] auto emit(const IRModule& module, const target::Target& target, EmitKind kind, const CodegenOptions& options = {})
    -> Result<std::string>;

/// The symbol of a compiled function. In this process, and for names that C has, "loopsmith_kernel_NAME", so that the code's own calls of C functions
/// do not reach a kernel.
[[nodiscard]] auto entry_symbol(const std::string& name, const CodegenOptions& options) -> std::string;

/// A member of a static library. `archive` makes the library (`ar`), with an index; the same members give the same bytes.
struct ArchiveMember {
  std::string name;
  std::string content;
};
[[nodiscard]] auto archive(const std::vector<ArchiveMember>& members) -> Result<std::string>;

/// Checks that LLVM supports the target's processor and features, and that Loopsmith emits code for it.
[[nodiscard]] auto check_target(const target::Target& target) -> Status;

/// The version of the LLVM back end ("19.1.7"); empty in programs without it.
[[nodiscard]] auto llvm_version() -> std::string;

}  // namespace loopsmith::codegen
