// The loop of the REPL: reads lines from a terminal (with editing, history and completion) or from a pipe, and executes them in a session.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace loopsmith::repl {

struct ReplOptions {
  std::string file;               // to load at the start; empty: none
  std::string mirror;             // a file with its text as an editor shows it; empty: the file itself
  std::string program;            // of the file, to begin with; empty: the first
  std::string schedule;           // of the file, to begin with; empty: none
  size_t line = 0;                // of the file: to begin with the schedule there, up to its statement; 0: none
  std::vector<std::string> steps; // lines of script only, executed before anything is typed
  std::string init;               // lines executed before anything is typed; a file that need not exist; empty: none
  std::vector<std::string> lines; // executed in place of typed input
  std::string history;            // the file of the history; empty: none
  bool interactive = false;       // a terminal on both ends
};

/// The indentation of the next line of an unfinished input: that of the last line, deeper behind a `:` or an open bracket.
[[nodiscard]] auto indentation_after(std::string_view input) -> size_t;

/// Runs until `:quit` or the end of input. Returns 0, or 1 where input came from a pipe and a line failed.
[[nodiscard]] auto run_repl(Host host, const ReplOptions& options) -> int;

/// Executes the inputs of a transcript and compares the answers with its own; a line `...` stands for any lines. The session begins with `file`;
/// where that is empty, the first input has to load one. With `update` the answers in the file are replaced. Returns 0, or 1 where an answer
/// differs or the file cannot be read.
[[nodiscard]] auto run_transcript(Host host, const std::string& path, bool update, const std::string& file = {}) -> int;

}  // namespace loopsmith::repl
