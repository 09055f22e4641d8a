// Calls between the functions of a module: by name, `Module.scale(A.data, 2)`, and as packed functions,
// `T.call_packed("scale", A, 2)`, if the module has a program of that name. An argument that is passed as an array
// (`T.tvm_stack_make_array`) includes its shape, which determines the sizes of the function's buffers. Functions outside of the module are
// unknown.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

struct PackedCall {
  Name function;                              // the function of the module
  Array<Expr> args;                           // for its parameters: pointers and numbers
  std::vector<std::pair<Var, Expr>> sizes;    // variables in its shapes and strides, with their values from the arrays
};

/// The name in a call of a packed function; none for other calls.
[[nodiscard]] auto packed_name(const Call& call) -> std::optional<Name>;

/// The function of the module with this name, or with this `global_symbol`.
[[nodiscard]] auto function_of_symbol(const IRModuleNode& module, Name symbol) -> std::optional<Name>;

/// The name in a call whose arguments lie on the stack (`T.call_packed_lowered`).
[[nodiscard]] auto lowered_packed_name(const Call& call) -> std::optional<Name>;

/// Resolves the call to a function of the module; none if the module has no such function, or if the arguments do not fit it.
[[nodiscard]] auto find_packed(const IRModuleNode& module, const Call& call) -> std::optional<PackedCall>;

/// Finds the constant of a module by the name of its variable, `T.lookup_param(name)`; returns it with the function that contains it.
[[nodiscard]] auto find_constant(const IRModuleNode& module, const Expr& name) -> std::optional<std::pair<Name, const AllocateConst*>>;

/// The functions that a function calls in any of these ways, or whose constants it looks up.
[[nodiscard]] auto called_in(const IRModuleNode& module, const PrimFunc& func) -> std::vector<Name>;

/// The module with only that function and the functions that it calls, directly or indirectly; the called functions become private.
[[nodiscard]] auto with_callees(const IRModule& module, Name function) -> IRModule;

}  // namespace loopsmith
