// Tensor intrinsics from scripts. A file registers one by a statement at its top level, in TVM's form:
//
//     TensorIntrin.register("dot_4x4", dot_4x4_description, dot_4x4_implementation)
//
// with two programs that have the same parameters; a call that gives both (`*make_dot(4)`) will do. The built-in ones are
// registered in the same way, in the scripts beside this file.
#pragma once

#include <memory>
#include <vector>

#include "eval/value.h"
#include "frontend/file.h"
#include "schedule/intrinsics.h"
#include "support/diagnostic.h"

namespace loopsmith::intrinsics {

/// Makes the built-in intrinsics known to schedules. Cheap, and nothing when done before; scripts are read when a name of
/// theirs is asked for. Tables of intrinsics belong to the calling thread, as the IR does.
void install();

/// Those that a file registers, in its order; a later one of the same name stands for an earlier. What is wrong with
/// registrations is added to `diagnostics`.
[[nodiscard]] auto registered_in(frontend::File& file, Diagnostics& diagnostics) -> std::vector<schedule::TensorIntrin>;
/// Is it a registration?
[[nodiscard]] auto is_registration(const syntax::Stmt& stmt) -> bool;

/// `TensorIntrin` as files see it: for `predeclared` of frontend::File.
[[nodiscard]] auto predeclared(Name name) -> const eval::Value*;

}  // namespace loopsmith::intrinsics
