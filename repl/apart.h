// Runs programs in a process of their own: Ctrl-C stops a program that never ends at once, and a program that crashes costs its answer, not the
// session.
#pragma once

#include <functional>

#include "repl/session.h"

namespace loopsmith::repl {

/// Does `work` in a copy of this process. Its output is printed here as it comes, and times that it measured of steps are kept; its other changes
/// are lost with the copy. `doing` ("timing") is shown during a long wait. False: it failed, crashed or was stopped.
auto apart(Session& session, const char* doing, const std::function<bool()>& work) -> bool;

}  // namespace loopsmith::repl
