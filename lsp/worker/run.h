// `loopsmith worker --analyze`: the process that knows the compiler. It takes frames from the front on standard input
// and writes frames on standard output; it may die at any moment, and the front starts another.
//
// Two threads. The reader takes frames as they come, and cancels the work in progress when something newer makes it
// stale. The analysis thread does everything else, in order; every snapshot, tree and IR node is its own. Edits come
// first: all that have arrived are applied before anything is analysed; then names and types of what changed, requests,
// and, when nothing else is left, schedules.
#pragma once

#include <string>
#include <vector>

namespace loopsmith::lsp {

/// Runs until its input ends; gives the exit status.
[[nodiscard]] auto run_analysis_worker(std::vector<std::string> args) -> int;

}  // namespace loopsmith::lsp
