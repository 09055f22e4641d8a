// The measuring worker: `loopsmith worker --measure`. It reads requests (messages.h) on standard input, builds candidates in
// memory, runs them, and replies. It is a separate process, since a candidate may crash it.
#pragma once

#include <string>
#include <vector>

namespace loopsmith::tune {

/// Runs until its input ends; returns the exit status.
[[nodiscard]] auto run_measuring_worker(std::vector<std::string> args) -> int;

}  // namespace loopsmith::tune
