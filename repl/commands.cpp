// The list of commands: see commands.h.
#include "repl/commands.h"

#include <algorithm>

#include "support/spelling.h"

namespace loopsmith::repl {

auto all_commands() -> const std::vector<Command>& {
  // In the order of `:help`.
  static const std::vector<Command> list = {
      help_command, load_command, programs_command, with_command, print_command, loops_command, footprint_command, accesses_command,
      roofline_command, diff_command, hint_command, why_not_command, why_command, explain_command, what_if_command, repair_command,
      undo_command, redo_command, goto_command, steps_command, tree_command, branch_command, trace_command, save_command, watch_command,
      lower_command, llvm_command, asm_command, kernels_command, run_command, verify_command, bench_command, space_command, tune_command, jobs_command,
      wait_command, stop_command, take_command, search_command, target_command, set_command, mode_command, time_command, history_command,
      past_command, shell_command, quit_command,
  };
  return list;
}

auto find_command(std::string_view name) -> const Command* {
  static const std::pair<std::string_view, std::string_view> short_names[] = {
      {"h", "help"}, {"q", "quit"}, {"u", "undo"}, {"p", "print"}, {"ir", "print"}, {"d", "diff"}, {"exit", "quit"}, {"fg", "wait"}, {"history", "hist"},
  };
  for (auto [brief, full] : short_names) {
    if (name == brief) { name = full; }
  }
  for (const Command& c : all_commands()) {
    if (c.name == name) { return &c; }
  }
  return nullptr;
}

auto closest_command(std::string_view name) -> std::string {
  std::string best;
  size_t least = 3;
  if (name.size() > 40) { return best; }
  for (const Command& c : all_commands()) {
    size_t distance = edit_distance(name, c.name);
    if (distance < least) { least = distance; best = std::string(c.name); }
  }
  return best;
}

auto needs_program(const Session& session) -> bool {
  if (session.has_program()) { return true; }
  session.complain("nothing is loaded; `:load FILE` reads a program\n");
  return false;
}

}  // namespace loopsmith::repl
