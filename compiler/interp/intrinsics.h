// Intrinsics as functions of numbers: maths, bits. The caller rounds results to their type.
#pragma once

#include <cstdint>
#include <string>

#include "ir/ir.h"

namespace loopsmith::interp {

/// `type` is the type of the result: functions like exp compute in it where that affects the result.
using RealFunction = double (*)(const double* args, DataType type);
using IntFunction = int64_t (*)(const int64_t* args, DataType type);

/// Null if no function has that name and number of arguments.
[[nodiscard]] auto find_real_function(Name name, size_t arity) -> RealFunction;
/// isnan, isinf, isfinite: 1 or 0.
[[nodiscard]] auto find_real_predicate(Name name) -> RealFunction;
[[nodiscard]] auto find_int_function(Name name, size_t arity) -> IntFunction;

/// The name of a function of SPIR-V's set GLSL.std.450, by its number; empty for unknown numbers.
[[nodiscard]] auto glsl_function(int64_t number) -> Name;
/// The name of an intrinsic for a function of C: "exp" for "expf" and "exp".
[[nodiscard]] auto c_function_name(const std::string& symbol) -> std::string;

}  // namespace loopsmith::interp
