// The names of a script for the loops and blocks of its schedule: variables, and items of lists (`loops[4]`). Calls that are
// offered to the user use these names.
#pragma once

#include <map>
#include <string>

#include "eval/evaluator.h"
#include "schedule/schedule.h"
#include "script/objects.h"

namespace loopsmith::script {

/// Names by the id of the loop or block. Prefers a plain name to an item of a list, and the name that was bound last to earlier ones; names that begin
/// with `_` come last.
[[nodiscard]] auto scope_names(const schedule::Schedule& schedule, const eval::Scope& scope) -> std::map<NodeId, std::string>;

/// The loop or block of a variable; null: it is a number, or no longer exists.
[[nodiscard]] auto place_of(const schedule::Schedule& schedule, const VariableObject& variable) -> const schedule::Place*;

}  // namespace loopsmith::script
