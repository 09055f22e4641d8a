// What executes programs does so in a process of its own: a program that never ends is stopped by Ctrl-C at once, one that crashes
// costs its answer and not the session.
#pragma once

#include <functional>

#include "repl/session.h"

namespace loopsmith::repl {

/// `work`, done in a copy of this process. What it prints is printed here as it comes, and times that it measured of steps are kept;
/// whatever else it changes is lost with the copy. `doing` ("timing") is shown while one waits. False: it failed, crashed or was stopped.
auto apart(Session& session, const char* doing, const std::function<bool()>& work) -> bool;

}  // namespace loopsmith::repl
