// External functions: the C functions that a program calls by name, `T.call_extern("float32", "expf", x)`. Only functions on a closed list run in this
// process: maths (externals.def), and copies of memory whose sizes are checked. Other functions need a library that the user links.
#pragma once

#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

enum class ExternalKind : uint8_t {
  Unknown,   // Loopsmith does not run the function
  Maths,     // reals of one type in, one real of that type out
  Memory,    // memcpy, memmove, memset
  Runtime,   // a call that lowering inserts (transform/check_bounds.h)
};

struct External {
  ExternalKind kind = ExternalKind::Unknown;
  int arguments = 0;
  DataType type;     // the type of the arguments and of the result of `Maths`
};

[[nodiscard]] auto external(std::string_view name) -> External;

/// The name of the function that `T.call_extern` or `T.call_pure_extern` calls; empty for other calls.
[[nodiscard]] auto external_name(const Call& call) -> std::string_view;

/// A call of an external function in a program.
struct ExternalCall {
  std::string_view name;   // lives as long as the program
  Origin where;
};
/// The external calls of a function in the order of the text, without those of `ExternalKind::Runtime`.
[[nodiscard]] auto external_calls(const PrimFunc& func) -> std::vector<ExternalCall>;

}  // namespace loopsmith
