// Tensor intrinsics from scripts. A file registers an intrinsic with a statement at its top level, in TVM's form:
//
//     TensorIntrin.register("dot_4x4", dot_4x4_description, dot_4x4_implementation)
//
// with two programs that have the same parameters. One call may return both: `*make_dot(4)`. The scripts beside this file
// register the built-in intrinsics in the same way.
#pragma once

#include <memory>
#include <vector>

#include "eval/value.h"
#include "frontend/file.h"
#include "schedule/intrinsics.h"
#include "support/diagnostic.h"

namespace loopsmith::intrinsics {

/// Installs the built-in intrinsics for schedules. Cheap, and without effect after the first call; a script is read when one
/// of its names is looked up. Tables of intrinsics belong to the calling thread, as the IR does.
void install();

/// The intrinsics that a file registers, in its order; a later one replaces an earlier one with the same name. Errors in
/// registrations are added to `diagnostics`.
[[nodiscard]] auto registered_in(frontend::File& file, Diagnostics& diagnostics) -> std::vector<schedule::TensorIntrin>;
/// True for a call of `TensorIntrin.register`.
[[nodiscard]] auto is_registration(const syntax::Stmt& stmt) -> bool;

/// The value of `TensorIntrin` in files, for `predeclared` of frontend::File; null for other names.
[[nodiscard]] auto predeclared(Name name) -> const eval::Value*;

}  // namespace loopsmith::intrinsics
