// The loop of the REPL: reads lines from a terminal (with editing, history and completion) or from a pipe, and hands them to a
// session.
#pragma once

#include <string>

#include "repl/session.h"

namespace loopsmith::repl {

struct ReplOptions {
  std::string file;               // to load at the start; empty: none
  std::string history;            // where lines are kept; empty: nowhere
  bool interactive = false;       // a terminal on both ends
};

/// Runs until `:quit` or the end of input. Gives 0, or 1 where input came from a pipe and a line failed.
[[nodiscard]] auto run_repl(Host host, const ReplOptions& options) -> int;

}  // namespace loopsmith::repl
