// Calls between the functions of a module: by its name, `Module.scale(A.data, 2)`, and as packed functions,
// `T.call_packed("scale", A, 2)`, where the module has a program of that name. What is passed as an array
// (`T.tvm_stack_make_array`) brings its shape along, so that the function's own sizes are known. What the module does not have is
// elsewhere, and nothing is known of it.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

struct PackedCall {
  Name function;                              // of the module
  Array<Expr> args;                           // for its parameters: pointers and numbers
  std::vector<std::pair<Var, Expr>> sizes;    // variables of its shapes and strides, by what the arrays say
};

/// Is it a call of a packed function by name? The name.
[[nodiscard]] auto packed_name(const Call& call) -> std::optional<Name>;

/// The function of the module that has this name, or says it as its `global_symbol`.
[[nodiscard]] auto function_of_symbol(const IRModuleNode& module, Name symbol) -> std::optional<Name>;

/// The name in a call whose arguments lie on the stack (`T.call_packed_lowered`).
[[nodiscard]] auto lowered_packed_name(const Call& call) -> std::optional<Name>;

/// As a call of a function of the module; none where that has no such function, or the arguments do not fit it.
[[nodiscard]] auto find_packed(const IRModuleNode& module, const Call& call) -> std::optional<PackedCall>;

/// The constant of a module whose variable has a name, `T.lookup_param(name)`, and the function that holds it.
[[nodiscard]] auto find_constant(const IRModuleNode& module, const Expr& name) -> std::optional<std::pair<Name, const AllocateConst*>>;

/// The functions that are called in one, by any of these, or hold a constant that it asks for.
[[nodiscard]] auto called_in(const IRModuleNode& module, const PrimFunc& func) -> std::vector<Name>;

/// The module with only that function and what it calls, directly or not, which is private then.
[[nodiscard]] auto with_callees(const IRModule& module, Name function) -> IRModule;

}  // namespace loopsmith
