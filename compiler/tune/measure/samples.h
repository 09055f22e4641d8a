// Checks a few elements of a large result with the interpreter.
#pragma once

#include <string>

#include "interp/compare.h"

namespace loopsmith::tune {

/// True when `check_samples` can check the program.
[[nodiscard]] auto has_samples(const IRModule& module, Name function) -> bool;

/// For programs in which one block computes the result and its spatial loops range over the elements: runs the interpreter on some elements and compares
/// with `expected`. Returns the number of compared elements (0: another kind of program), and in `difference` the first difference.
[[nodiscard]] auto check_samples(const IRModule& module, Name function, const interp::Inputs& inputs, const interp::Inputs& expected,
                                 int samples, bool exact, std::string& difference) -> int;

}  // namespace loopsmith::tune
