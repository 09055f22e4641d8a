// What is shown of a step that was done: its diff, the program, the loops as a tree or a table, JSON or Markdown. A row per mode.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace loopsmith::repl {

struct AnswerMode {
  std::string_view name;
  std::string_view summary;
  /// `before`: the program before the step at the session's position; `named`: what got names, "i0:64 i1:8".
  std::string (*text)(const Session& session, const IRModule& before, const std::string& named);
};

[[nodiscard]] auto answer_modes() -> const std::vector<AnswerMode>&;
/// Null: there is no such mode.
[[nodiscard]] auto find_answer_mode(std::string_view name) -> const AnswerMode*;

/// What is said of a line that was refused, where answers are lines of JSON: {"line", "refused": [{"code", "message", "help"}], "instead"}.
[[nodiscard]] auto refusal_json(const std::string& line, const Diagnostics& diagnostics, const std::vector<std::string>& instead) -> std::string;

/// What a command said, where answers are lines of JSON: {"line", "done", "text"}, "complaint" where something was wrong, "choices" where
/// lines are offered.
[[nodiscard]] auto command_json(const std::string& line, bool is_done, const std::string& text, const std::string& complaint, const std::vector<std::string>& choices) -> std::string;

/// The loops of the program as rows: what the script calls each, the loop, its extent, kind, and how often it runs.
[[nodiscard]] auto loop_table(const Session& session) -> std::string;

}  // namespace loopsmith::repl
