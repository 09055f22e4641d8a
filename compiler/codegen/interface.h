// The calling convention of compiled functions, in terms of C and without LLVM: codegen compiles functions for it, and the
// runtime uses it to call them.
//
//     int32_t NAME(const Argument* arguments);      // 0: success; otherwise `loopsmith_set_error` received a text
//
// `arguments` holds one slot for every parameter of the function, in order, then one for every variable that
// only the shapes of its buffers define (`A: T.Buffer((n, m))`), in the order of their first appearance.
// A buffer's slot holds the address of its first element; an integer's or bool's, the integer; a float's, a double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/bindings.h"
#include "ir/index_uses.h"
#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::codegen {

union Argument {
  void* data;
  int64_t integer;
  double real;
};
using Entry = int32_t (*)(const Argument* arguments);

/// A dimension of a buffer for the caller: a constant, a shape variable or a scalar parameter, or an expression of them (`Interface::sizes`).
struct Dimension {
  enum class Kind : uint8_t { Constant, Variable, Computed } kind = Kind::Computed;
  int64_t value = 0;          // of a constant
  int slot = -1;              // of a variable: its argument slot
};

/// The elements of a parameter are indices: an access at `scale` x + [low, high] must stay inside of the extent (ir/index_uses.h).
struct IndexLimit {
  Formula extent;
  int64_t scale = 1, low = 0, high = 0;
};

struct Parameter {
  enum class Kind : uint8_t { Buffer, Scalar, Pointer } kind = Kind::Scalar;
  std::string name;
  DataType dtype;             // of an element, for buffers
  std::vector<Dimension> shape = {};
  int alignment = 1;          // bytes, for buffers
  bool is_written = false;
  std::vector<IndexLimit> limits = {};    // of elements that are indices
  bool is_unknown_index = false;          // elements are indices, and the range for which accesses stay inside is unknown
};

/// Plain data: it may outlive the IR, and any thread may read it.
struct Interface {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::string> shape_variables;   // their slots follow the parameters'
  bool may_fork = false;                      // it has parallel loops, or calls another function of its module
  Sizes sizes;                                // the sizes of the tensors of a call, from the buffers
  [[nodiscard]] auto slots() const -> size_t { return parameters.size() + shape_variables.size(); }
};

/// The interface of a function at any stage. Flattening may replace the shapes of buffers: to check the shapes of the program,
/// take the interface before lowering.
[[nodiscard]] auto interface_of(const PrimFunc& func, const std::string& name) -> Interface;

using loopsmith::shape_variables;

/// The shape of a parameter in the form of the program: "(n * 2, 4)".
[[nodiscard]] auto shape_text(const Interface& interface, size_t parameter) -> std::string;
/// The extents of a parameter's tensor, if the values of the slots determine them.
[[nodiscard]] auto shape_of(const Interface& interface, size_t parameter, const std::vector<std::optional<int64_t>>& slots) -> std::optional<std::vector<int64_t>>;
/// The range of a parameter's elements if they are indices; none if they are not.
[[nodiscard]] auto index_range(const Interface& interface, size_t parameter, const std::vector<std::optional<int64_t>>& slots) -> std::optional<IndexRange>;

/// DLPack's code of a type (1.1: https://dmlc.github.io/dlpack): 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 7 to 17 the kinds of
/// float8, float6 and float4; -1 for types without a code.
[[nodiscard]] auto dlpack_code(DataType dtype) -> int;

/// The symbol of a compiled function: its "global_symbol", or else its name in the module.
[[nodiscard]] auto symbol_of(Name name, const PrimFunc& func) -> std::string;

/// True for names of the C library of this machine, and of Loopsmith's support code: a function with such a name would replace the library's in a program.
[[nodiscard]] auto is_c_library_name(const std::string& name) -> bool;

/// The symbol of a kernel's code, next to its entry.
[[nodiscard]] auto inner_symbol(std::string_view name) -> std::string;
/// The name for debuggers and profilers of the function with this symbol: without the prefix of `inner_symbol`.
[[nodiscard]] auto shown_name(std::string_view symbol) -> std::string_view;

}  // namespace loopsmith::codegen
