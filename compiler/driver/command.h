// Subcommands: each is a function from its arguments (those behind its name) to the exit status. commands.def lists them.
#pragma once

#include <string>
#include <vector>

namespace loopsmith::driver {

/// The exit status of a command.
enum Exit : int {
  exit_done = 0,         // warnings allowed
  exit_input = 1,        // the input has errors
  exit_usage = 2,        // the command line is wrong
  exit_environment = 3,  // the machine lacks a needed part
  exit_internal = 4,     // also: standard output cannot be written
};

namespace commands {
#define COMMAND(function, name, audience, arguments, summary) \
  [[nodiscard]] auto function(std::vector<std::string> args) -> int;
#include "driver/commands.def"
#undef COMMAND

// `worker --run`, `worker --verify` and `worker --bench`: the commands with these names, in this process.
[[nodiscard]] auto run_here(std::vector<std::string> args) -> int;
[[nodiscard]] auto verify_here(std::vector<std::string> args) -> int;
[[nodiscard]] auto bench_here(std::vector<std::string> args) -> int;
// `worker --build`: builds one file for one target and prints a line of JSON.
[[nodiscard]] auto build_here(std::vector<std::string> args) -> int;
}  // namespace commands

/// Prints `loopsmith NAME: MESSAGE` and a hint at --help on standard error; returns exit_usage.
[[nodiscard]] auto usage_error(const std::string& command, const std::string& message) -> int;

}  // namespace loopsmith::driver
