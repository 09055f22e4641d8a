// Machine code from flat TIR, through LLVM.
//
// Takes   what the lowering pipelines of transform/ give: loops, allocations, loads and stores with one index (a
//         ramp for vectors), `if`, `while`, lets and asserts; no blocks.
// Gives   LLVM IR, assembly, or a position-independent object with one function per PrimFunc
//         (codegen/interface.h explains its arguments). The same input gives the same bytes.
// Keeps   the order of every reduction. Products may be contracted into sums (fma) unless told otherwise.
//
// Buffers of different data variables are taken to be disjoint, unless the function says
// `T.func_attr({"tir.noalias": False})`. No LLVM header is seen from here.
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

/// A place in the person's text; lines and columns count from 1.
struct SourcePlace {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
};

struct CodegenOptions {
  bool contract = true;       // a * b + c may be one fma
  bool fast_math = false;     // all of LLVM's fast-math flags: reassociation, no NaNs, approximate division
  int opt_level = -1;         // 0: as is, quickly; 1 to 3: the pass list; -1: the target's, else 2
  /// For code run by this process: kernels use its thread pool and its workspace memory. Otherwise code
  /// needs libc and libm only, and uses `loopsmith_parallel` where the final link has one.
  bool hosted = true;
  /// Functions are seen inside of the library that the object becomes part of, and not from outside.
  bool hidden = false;
  /// Buffers of the program's own begin as bytes of ones (no number, -1), as in the interpreter: what nobody wrote shows in results.
  bool fills_allocations = false;
  /// Where nodes stand: code then has line tables (DWARF), and assembly names lines. None: no debug information.
  std::function<std::optional<SourcePlace>(const Origin&)> locate = {};
  /// In place of the pass list of its level, in the syntax of `opt -passes=`; for experiments.
  std::string passes = {};
};

/// Code of every function of a flat module.
[[nodiscard]] auto emit(const IRModule& module, const target::Target& target, EmitKind kind, const CodegenOptions& options = {})
    -> Result<std::string>;

/// A static library (`ar`) of objects, with its index; the same members give the same bytes.
struct ArchiveMember {
  std::string name;
  std::string content;
};
[[nodiscard]] auto archive(const std::vector<ArchiveMember>& members) -> Result<std::string>;

/// Does LLVM know the target's processor and features, and do we emit code for it?
[[nodiscard]] auto check_target(const target::Target& target) -> Status;

/// Is the LLVM back end part of this program, and which version ("19.1.7"; empty: no)?
[[nodiscard]] auto llvm_version() -> std::string;

}  // namespace loopsmith::codegen
