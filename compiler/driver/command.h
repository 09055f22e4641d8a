// What a subcommand is: a function of its arguments (those after its name) that gives the exit status. The
// table of all of them is commands.def.
#pragma once

#include <string>
#include <vector>

namespace loopsmith::driver {

/// What scripts see of how a command went.
enum Exit : int {
  exit_done = 0,         // warnings allowed
  exit_input = 1,        // the input has errors
  exit_usage = 2,        // the command line is wrong
  exit_environment = 3,  // the machine lacks something
  exit_internal = 4,
};

namespace commands {
#define COMMAND(function, name, audience, arguments, summary) \
  [[nodiscard]] auto function(std::vector<std::string> args) -> int;
#include "driver/commands.def"
#undef COMMAND

// What `worker --run`, `worker --verify` and `worker --bench` do: the commands of that name, in this process.
[[nodiscard]] auto run_here(std::vector<std::string> args) -> int;
[[nodiscard]] auto verify_here(std::vector<std::string> args) -> int;
[[nodiscard]] auto bench_here(std::vector<std::string> args) -> int;
// What `worker --build` does: one file for one target, told as a line of JSON.
[[nodiscard]] auto build_here(std::vector<std::string> args) -> int;
}  // namespace commands

/// `loopsmith NAME: MESSAGE` and a hint at --help, on standard error; gives exit_usage.
[[nodiscard]] auto usage_error(const std::string& command, const std::string& message) -> int;

}  // namespace loopsmith::driver
