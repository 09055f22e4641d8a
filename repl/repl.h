// The loop of the REPL: reads lines from a terminal (with editing, history and completion) or from a pipe, and executes them in a session.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace loopsmith::repl {

struct ReplOptions {
  std::string file;               // loaded at the start; empty: none
  std::string mirror;             // a file with the text of `file` in an editor; empty: `file` itself
  std::string program;            // of the file, the program at the start; empty: the first
  std::string schedule;           // of the file, the schedule at the start; empty: none
  size_t line = 0;                // of the file: starts with the schedule there, up to the statement on the line; 0: none
  std::vector<std::string> steps; // lines of script only, executed before typed input
  std::string init;               // a file of lines executed before typed input; need not exist; empty: none
  std::vector<std::string> lines; // executed in place of typed input
  std::string history;            // the file of the history; empty: none
  bool interactive = false;       // input and output are a terminal
};

/// The indentation of the next line of an unfinished input: that of the last line, deeper behind a `:` or an open bracket.
[[nodiscard]] auto indentation_after(std::string_view input) -> size_t;

/// Runs until `:quit` or the end of input. Returns 0, or 1 if input came from a pipe and a line failed.
[[nodiscard]] auto run_repl(Host host, const ReplOptions& options) -> int;

/// Executes the inputs of a transcript and compares the answers with its own; a line `...` matches any lines. The session begins with `file`;
/// if that is empty, the first input must load a file. `update` replaces the answers in the file. Returns 0, or 1 if an answer
/// differs or the file cannot be read.
[[nodiscard]] auto run_transcript(Host host, const std::string& path, bool update, const std::string& file = {}) -> int;

}  // namespace loopsmith::repl
