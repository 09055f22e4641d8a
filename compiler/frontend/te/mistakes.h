// Errors in functions of Python files that make statements of programs. Errors in other Python are dropped, as Loopsmith does not know all of it.
#pragma once

#include "support/diagnostic.h"

namespace loopsmith::frontend::te {

/// Keeps an error for `take_mistakes`. Where Python is not read strictly, nothing else reports the error.
void note_mistake(const Diagnostic& mistake);
/// The errors on this thread that were noted since the last call.
[[nodiscard]] auto take_mistakes() -> Diagnostics;

}  // namespace loopsmith::frontend::te
