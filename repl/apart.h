// Runs programs in a separate process: Ctrl-C stops an endless program at once, and the crash of a program loses only its answer, not the
// session.
#pragma once

#include <functional>

#include "repl/session.h"

namespace loopsmith::repl {

/// Does `work` in a copy of this process. Its output is printed here as it comes, and its measured times of steps are kept; its other changes
/// are lost with the copy. `doing` ("timing") is shown during a long wait. False: it failed, crashed or was stopped.
auto apart(Session& session, const char* doing, const std::function<bool()>& work) -> bool;

}  // namespace loopsmith::repl
