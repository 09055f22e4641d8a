// The effect of a step on the program, in a line: its primitives with their loops and blocks, and the loops and blocks that are new, gone or of
// another kind. The history can be searched for a step's effect as well as for its text.
#pragma once

#include <string>

#include "schedule/schedule.h"

namespace loopsmith::repl {

struct Effect {
  std::string calls;     // "split i of C"; several primitives are separated by "; ". Empty: the step only looked something up
  std::string changes;   // "+ i_0:64, + i_1:8, - i"; empty: no loop or block changed
  /// "split i of C: + i_0:64, + i_1:8, - i".
  [[nodiscard]] auto text() const -> std::string { return changes.empty() ? calls : calls + ": " + changes; }
};
[[nodiscard]] auto describe_effect(const schedule::Schedule& before, const schedule::Schedule& after) -> Effect;

}  // namespace loopsmith::repl
