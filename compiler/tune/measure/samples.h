// Checking a few elements of a large result with the interpreter.
#pragma once

#include <string>

#include "interp/compare.h"

namespace loopsmith::tune {

/// Is the program of the kind that `check_samples` knows?
[[nodiscard]] auto has_samples(const IRModule& module, Name function) -> bool;

/// Where one block makes the result and its spatial loops stand for its elements: runs the interpreter on some points of them
/// and compares with `expected`. Gives how many elements were compared (0: the program is not of that kind), and in
/// `difference` the first that differs.
[[nodiscard]] auto check_samples(const IRModule& module, Name function, const interp::Inputs& inputs, const interp::Inputs& expected,
                                 int samples, bool exact, std::string& difference) -> int;

}  // namespace loopsmith::tune
