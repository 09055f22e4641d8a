// Questions that a command asks before it runs, as gopls 0.22 does (proposed for LSP): `command/resolve` answers with
// the command and `formFields`; the editor sends the command again with `formAnswers`, until no field is left. Then it executes the command with
// the answers.
#pragma once

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

/// The argument of a command: the first of its `arguments`, which some editors send without a list.
[[nodiscard]] auto first_argument(const Json& params) -> const Json&;

/// The answer to `command/resolve`. `tune`: settings of a search that are used for options missing in the command. `sizes`: the sizes that were chosen for
/// the program of the command, by their names.
[[nodiscard]] auto resolved_command(const Json& params, const Json& tune, const Json& sizes = {}) -> Json;

/// The sizes in the answers to `loopsmith.sizes`, by their names; null: there are no answers, or they are not valid.
[[nodiscard]] auto answered_sizes(const Json& params) -> Json;

/// The first argument of a command, completed by the answers in `params`; unchanged if an answer is missing or not valid.
[[nodiscard]] auto answered_argument(const Json& params, Json argument) -> Json;

}  // namespace loopsmith::lsp
