// Questions before a command is carried out, as gopls 0.22 asks them (an experiment on the way into LSP): `command/resolve` gives the command
// with `formFields`, the editor sends it again with `formAnswers`, until nothing is asked any more; then it is executed with the answers.
#pragma once

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

/// What `command/resolve` answers to its parameters. `tune`: the options that a search begins with where nothing is said.
[[nodiscard]] auto resolved_command(const Json& params, const Json& tune) -> Json;

/// The first argument of a command with what was answered to its questions; as it is where nothing was, or an answer is not valid.
[[nodiscard]] auto answered_argument(const Json& params, Json argument) -> Json;

}  // namespace loopsmith::lsp
