// The effect of a step on the program, in a line: its primitives with their loops and blocks, and the loops and blocks that are new, gone or of
// another kind. The history can be searched for a step's effect as well as for its text.
#pragma once

#include <string>

#include "schedule/schedule.h"

namespace loopsmith::repl {

/// "split i of C: + i_0:64 + i_1:8 - i"; several primitives are separated by "; ". Empty: the step only looked something up.
[[nodiscard]] auto describe_effect(const schedule::Schedule& before, const schedule::Schedule& after) -> std::string;

}  // namespace loopsmith::repl
