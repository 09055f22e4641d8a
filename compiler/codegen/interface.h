// The calling convention of compiled functions, in terms of C and without LLVM: codegen compiles functions to it, the
// runtime calls them by it.
//
//     int32_t NAME(const Argument* arguments);      // 0: done; else `loopsmith_set_error` got a text
//
// `arguments` holds one slot for every parameter of the function, in order, then one for every variable that
// only the shapes of its buffers define (`A: T.Buffer((n, m))`), in the order of their first appearance.
// A buffer's slot holds the address of its first element; an integer's or bool's, the integer; a float's, a double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::codegen {

union Argument {
  void* data;
  int64_t integer;
  double real;
};
using Entry = int32_t (*)(const Argument* arguments);

/// A dimension of a buffer for the caller: a constant, a shape variable, or an expression, which is not checked.
struct Dimension {
  enum class Kind : uint8_t { Constant, Variable, Computed } kind = Kind::Computed;
  int64_t value = 0;          // of a constant
  int slot = -1;              // of a variable: its argument slot
};

struct Parameter {
  enum class Kind : uint8_t { Buffer, Scalar, Pointer } kind = Kind::Scalar;
  std::string name;
  DataType dtype;             // of an element, for buffers
  std::vector<Dimension> shape = {};
  int alignment = 1;          // bytes, for buffers
  bool is_written = false;
};

/// Plain data: it may outlive the IR, and any thread may read it.
struct Interface {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::string> shape_variables;   // their slots follow the parameters'
  bool may_fork = false;                      // it has parallel loops, or calls another function of its module
  [[nodiscard]] auto slots() const -> size_t { return parameters.size() + shape_variables.size(); }
};

/// The interface of a function at any stage. Flattening may replace the shapes of buffers: to have the written shapes
/// checked, take the interface before lowering.
[[nodiscard]] auto interface_of(const PrimFunc& func, const std::string& name) -> Interface;

/// The variables behind `shape_variables`.
[[nodiscard]] auto shape_variables(const PrimFunc& func) -> std::vector<Var>;

/// DLPack's code of a type (1.1: https://dmlc.github.io/dlpack): 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 7 to 17 the kinds of
/// float8, float6 and float4; -1 for types without a code.
[[nodiscard]] auto dlpack_code(DataType dtype) -> int;

/// The symbol of a compiled function: its "global_symbol", else its name in the module.
[[nodiscard]] auto symbol_of(Name name, const PrimFunc& func) -> std::string;

}  // namespace loopsmith::codegen
