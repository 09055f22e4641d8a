// The commands of the REPL: one row each, in the files of their families in commands/; commands.cpp lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace loopsmith::repl {

struct Command {
  std::string_view name;          // without the colon
  std::string_view arguments;     // for :help
  std::string_view summary;
  bool (*run)(Session& session, const std::vector<std::string>& arguments);
};

[[nodiscard]] auto all_commands() -> const std::vector<Command>&;
[[nodiscard]] auto find_command(std::string_view name) -> const Command*;
/// The command whose name is most similar to a misspelt name; empty: none is similar enough.
[[nodiscard]] auto closest_command(std::string_view name) -> std::string;

// commands/basics.cpp
extern const Command help_command, load_command, programs_command, with_command, undo_command, redo_command, goto_command, steps_command,
    tree_command, branch_command, set_command, watch_command, target_command, quit_command;
// commands/execution.cpp
extern const Command run_command, verify_command, bench_command, why_command, space_command, tune_command;
// commands/history.cpp
extern const Command history_command, past_command, explain_command, mode_command, time_command, shell_command;
// commands/jobs.cpp
extern const Command jobs_command, wait_command, stop_command, search_command, take_command;
// commands/moves.cpp
extern const Command hint_command, why_not_command, what_if_command, repair_command, footprint_command, accesses_command, roofline_command,
    loops_command;
// commands/views.cpp
extern const Command print_command, diff_command, trace_command, save_command, lower_command, llvm_command, asm_command, kernels_command;

/// Makes the result of a search the next step. If the search began at a step `sch.tune()` on the way here, its statements replace that step;
/// else they are a step that begins with the program as written. False: an error was reported.
auto adopt_found(Session& session, const IRModule& program, const std::string& trace, double seconds) -> bool;

/// False if no program is loaded; this is reported.
[[nodiscard]] auto needs_program(const Session& session) -> bool;

}  // namespace loopsmith::repl
