// What a step did to the program, in a line: which primitive, on which loops and blocks, what is new, gone or of another kind. For
// those who look for a step by what it did and not by how it was typed.
#pragma once

#include <string>

#include "schedule/schedule.h"

namespace loopsmith::repl {

/// "split i of C: + i_0:64 + i_1:8 - i"; of several primitives with "; " between. Empty: nothing was done but looking.
[[nodiscard]] auto describe_effect(const schedule::Schedule& before, const schedule::Schedule& after) -> std::string;

}  // namespace loopsmith::repl
