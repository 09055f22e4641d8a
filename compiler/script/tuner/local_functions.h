// `LocalBuilder(f_build=..., f_export=...)` and `LocalRunner(f_run_evaluator=..., f_cleanup=...)` with functions of the file: a builder or a runner whose method
// calls them for each candidate, as TVM's local workers do.
#pragma once

#include <utility>
#include <vector>

#include "script/tuner/pieces.h"

namespace loopsmith::script {

/// Functions and other arguments of the call, by the names of their parameters.
using LocalArguments = std::vector<std::pair<Name, eval::Value>>;
/// A piece with the method `build` or `run`. `kind`: Builder or Runner.
[[nodiscard]] auto piece_of_functions(PieceKind kind, const LocalArguments& given) -> eval::Value;

}  // namespace loopsmith::script
