// The loop of the REPL: reads lines from a terminal (with editing, history and completion) or from a pipe, and hands them to a
// session.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace loopsmith::repl {

struct ReplOptions {
  std::string file;               // to load at the start; empty: none
  std::string mirror;             // where its text stands as an editor shows it; empty: in the file itself
  std::string program;            // of the file, to begin with; empty: the first
  std::string schedule;           // of the file, to begin with; empty: none
  std::vector<std::string> steps; // of script and nothing else, done before anything is typed
  std::string init;               // lines executed before anything is typed; a file that need not exist; empty: none
  std::vector<std::string> lines; // executed instead of what is typed
  std::string history;            // where lines are kept; empty: nowhere
  bool interactive = false;       // a terminal on both ends
};

/// Blanks that the next line of an unfinished input begins with: as the last one, deeper behind a `:` or an open bracket.
[[nodiscard]] auto indentation_after(std::string_view input) -> size_t;

/// Runs until `:quit` or the end of input. Gives 0, or 1 where input came from a pipe and a line failed.
[[nodiscard]] auto run_repl(Host host, const ReplOptions& options) -> int;

/// Does what a transcript did and compares what comes of it with what it says; a line `...` stands for any lines. It
/// begins with a file, or (empty) the first `sch>` line is to load one. With `update` the file is written anew instead. Gives 0, or 1 where it differs or cannot be read.
[[nodiscard]] auto run_transcript(Host host, const std::string& path, bool update, const std::string& file = {}) -> int;

}  // namespace loopsmith::repl
