// `loopsmith worker --analyze`: the process that contains the compiler. It reads frames from the front on standard input
// and writes frames on standard output. It may die at any moment; the front then starts another.
//
// Two threads. The reader takes frames as they arrive, and cancels the present work if a newer frame makes it
// stale. The analysis thread does everything else, in order, and owns every snapshot, tree and IR node. Edits come
// first: all that have arrived are applied before anything is analysed. Then follow names and types of changed texts, requests
// and, if nothing else is left, schedules.
#pragma once

#include <string>
#include <vector>

namespace loopsmith::lsp {

/// Runs until its input ends; returns the exit status.
[[nodiscard]] auto run_analysis_worker(std::vector<std::string> args) -> int;

}  // namespace loopsmith::lsp
