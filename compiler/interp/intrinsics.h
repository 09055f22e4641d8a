// Intrinsics as functions of numbers: maths, bits. Results are rounded to their type by the caller.
#pragma once

#include <cstdint>
#include <string>

#include "ir/ir.h"

namespace loopsmith::interp {

/// `type`: of the result, in which narrower arithmetic is done where it matters (exp of a float is exp of a float).
using RealFunction = double (*)(const double* args, DataType type);
using IntFunction = int64_t (*)(const int64_t* args, DataType type);

/// Null where there is none of that name and number of arguments.
[[nodiscard]] auto find_real_function(Name name, size_t arity) -> RealFunction;
/// isnan, isinf, isfinite: 1 or 0.
[[nodiscard]] auto find_real_predicate(Name name) -> RealFunction;
[[nodiscard]] auto find_int_function(Name name, size_t arity) -> IntFunction;

/// "expf" and "exp" are exp.
/// What a function of SPIR-V's set GLSL.std.450 is called here, by its number there; empty: it is not known.
[[nodiscard]] auto glsl_function(int64_t number) -> Name;
[[nodiscard]] auto c_function_name(const std::string& symbol) -> std::string;

}  // namespace loopsmith::interp
