// The functions of `T`, one file per family: each ends with the table of the names that it defines, and namespace.cpp adds the tables
// to the namespaces. Private to the frontend.
#pragma once

#include <span>
#include <string>

#include "eval/evaluator.h"
#include "frontend/objects.h"

namespace loopsmith::frontend {

struct FunctionRow { const char* name; eval::Builtin::Run run; };
using FunctionRows = std::span<const FunctionRow>;

[[nodiscard]] auto buffer_functions() -> FunctionRows;        // buffers.cpp: T.alloc_buffer, T.match_buffer, T.allocate
[[nodiscard]] auto loop_functions() -> FunctionRows;          // loops.cpp: T.serial, T.grid, T.thread_binding
[[nodiscard]] auto block_functions() -> FunctionRows;         // blocks.cpp: T.block, T.reads, T.where
[[nodiscard]] auto axis_functions() -> FunctionRows;          // blocks.cpp: members of T.axis
[[nodiscard]] auto statement_functions() -> FunctionRows;     // statements.cpp: T.evaluate, T.attr, T.If
[[nodiscard]] auto operator_functions() -> FunctionRows;      // operators.cpp: T.Add, T.min, T.Cast, T.if_then_else
[[nodiscard]] auto constant_functions() -> FunctionRows;      // constants.cpp: T.const, T.Var, T.min_value
[[nodiscard]] auto index_map_functions() -> FunctionRows;     // index_maps.cpp: T.index_map
[[nodiscard]] auto reducer_functions() -> FunctionRows;       // reducers.cpp: T.comm_reducer, T.reduce, T.iter_var
[[nodiscard]] auto target_functions() -> FunctionRows;        // targets.cpp: T.target
[[nodiscard]] auto call_functions() -> FunctionRows;          // calls.cpp: T.call_intrin, T.Call

/// The members of `T` that are rows of intrinsics.def, each with its name (calls.cpp).
[[nodiscard]] auto intrinsic_members() -> std::vector<std::pair<const char*, Value>>;

// Functions that other namespaces have too.
auto let(Evaluator& e, const Arguments& a) -> Value;                      // T.let(x, value)
auto meta_var(Evaluator& e, const Arguments& a) -> Value;                 // I.meta_var
auto string_immediate(Evaluator& e, const Arguments& a) -> Value;         // I.StringImm
auto constant_of(Evaluator& e, const Arguments& a) -> Value;              // tvm.runtime.const
auto converted(Evaluator& e, const Arguments& a) -> Value;                // tvm.runtime.convert
auto range_of(Evaluator& e, const Arguments& a) -> Value;                 // I.Range
auto dynamic_var(Evaluator& e, const Arguments& a) -> Value;              // I.dynamic
auto type_var(Evaluator& e, const Arguments& a) -> Value;                 // typing.TypeVar
auto iter_var(Evaluator& e, const Arguments& a) -> Value;                 // tir.IterVar
auto index_map_of_parts(Evaluator& e, const Arguments& a) -> Value;       // tir.IndexMap(initial, final)
auto index_map_from_func(Evaluator& e, const Arguments& a) -> Value;      // tir.IndexMap.from_func(f)
auto target(Evaluator& e, const Arguments& a) -> Value;                   // tvm.target.Target

// Decorators and the annotation `T.let` (decorators.cpp).
[[nodiscard]] auto prim_func_decorator(FunctionOptions options) -> Value;
[[nodiscard]] auto module_decorator() -> Value;
[[nodiscard]] auto macro_decorator() -> Value;
[[nodiscard]] auto let_annotation() -> Value;

/// The name of a function for messages, such as `T.max`, found in the family's own table.
[[nodiscard]] auto name_in(FunctionRows rows, eval::Builtin::Run run) -> std::string;

}  // namespace loopsmith::frontend
