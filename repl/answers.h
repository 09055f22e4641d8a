// The forms of the answer to a step: its diff, the program, the loops as a tree or a table, JSON or Markdown. One row per mode.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace loopsmith::repl {

struct AnswerMode {
  std::string_view name;
  std::string_view summary;
  /// `before`: the program before the step at the session's position; `named`: the variables that it bound, "i0:64 i1:8".
  std::string (*text)(const Session& session, const IRModule& before, const std::string& named);
};

[[nodiscard]] auto answer_modes() -> const std::vector<AnswerMode>&;
/// Null: there is no mode with the name.
[[nodiscard]] auto find_answer_mode(std::string_view name) -> const AnswerMode*;

/// The answer to a refused line as JSON: {"line", "refused": [{"code", "message", "help"}], "instead"}.
[[nodiscard]] auto refusal_json(const std::string& line, const Diagnostics& diagnostics, const std::vector<std::string>& instead) -> std::string;

/// The answer of a command as JSON: {"line", "done", "text"}, with "complaint" if there was an error or warning, and "choices" if it offers lines.
[[nodiscard]] auto command_json(const std::string& line, bool is_done, const std::string& text, const std::string& complaint, const std::vector<std::string>& choices) -> std::string;

/// The loops of the program as rows: the script's name for each, the loop, its extent, its kind, and the number of times that it runs.
[[nodiscard]] auto loop_table(const Session& session) -> std::string;

}  // namespace loopsmith::repl
