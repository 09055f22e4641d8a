// The differences between the words of CUDA C and OpenCL C, and the functions that kernels call.
#pragma once

#include <string>
#include <string_view>

#include "codegen/source/source.h"
#include "ir/dtype.h"

namespace loopsmith::codegen {

struct Dialect {
  std::string_view name;
  std::string_view kernel;              // before a kernel's name
  std::string_view global_memory;       // before the type of a pointer to it
  std::string_view restrict_word;
  std::string_view shared_memory;       // before the declaration of an array in it
  std::string_view constant_memory;     // the same for a table of constants
  std::string_view barrier;             // a statement
  std::string_view warp_barrier;
  std::string_view longest_int;         // the type of 64 bits, and its literals' suffix
  std::string_view long_suffix;
  /// "threadIdx.x" in the dialect's form.
  auto (*index)(std::string_view tag) -> std::string;
};

[[nodiscard]] auto dialect_of(SourceDialect dialect) -> const Dialect&;

/// A function of the prelude: its definition, and the functions that it uses.
struct PreludeFunction {
  std::string_view name;
  std::string_view cuda;
  std::string_view opencl;
  std::string_view uses = {};           // names, separated by spaces
};
[[nodiscard]] auto find_prelude(std::string_view name) -> const PreludeFunction*;
/// The definitions of these functions and of all functions that they use, each once.
[[nodiscard]] auto prelude_text(const std::vector<std::string>& names, SourceDialect dialect) -> std::string;

}  // namespace loopsmith::codegen
