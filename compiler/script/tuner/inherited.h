// Methods that classes of a file inherit from TVM's bases: `load` and `save` of cost models, `tune` and the calls about running tasks of task schedulers.
#pragma once

#include "eval/evaluator.h"
#include "script/tuner/pieces.h"

namespace loopsmith::script {

/// The method of the base of a kind of pieces; null: the base has none with this name.
[[nodiscard]] auto inherited_method(PieceKind kind, Name member) -> eval::Method::Run;

/// Calls a function that only build scripts have, which they give under its full name: "ms.tune_tir". Elsewhere its value is unknown.
[[nodiscard]] auto call_of_build_script(eval::Evaluator& evaluator, const eval::Arguments& given, const char* full_name) -> eval::Value;

}  // namespace loopsmith::script
