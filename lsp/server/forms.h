// Questions that a command asks before it is executed, as gopls 0.22 asks them (an experiment on its way into LSP): `command/resolve` answers with
// the command and `formFields`; the editor sends it again with `formAnswers`, until no field is left; then it executes the command with the
// answers.
#pragma once

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

/// The answer to `command/resolve`. `tune`: the settings that a search begins with where the command leaves them open.
[[nodiscard]] auto resolved_command(const Json& params, const Json& tune) -> Json;

/// The first argument of a command, completed by the answers in `params`; unchanged where no answer is there, or one is not valid.
[[nodiscard]] auto answered_argument(const Json& params, Json argument) -> Json;

}  // namespace loopsmith::lsp
