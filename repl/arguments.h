// Completing arguments of primitives: loops and blocks by what the script calls them, those with which the call would be legal in this
// state; divisors of the loop for factors; names of parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace loopsmith::repl {

/// What may follow: `before` is the line up to the word, the word's letters are `word`. None: the place is in no call of a primitive, or
/// any name may stand there.
[[nodiscard]] auto complete_argument(const Session& session, std::string_view before, std::string_view word) -> std::optional<std::vector<std::string>>;

}  // namespace loopsmith::repl
