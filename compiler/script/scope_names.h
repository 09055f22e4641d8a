// What a script calls the loops and blocks of its schedule: names of variables, and places in lists that variables hold
// (`loops[4]`). For those who write calls in the script's own words.
#pragma once

#include <map>
#include <string>

#include "eval/evaluator.h"
#include "schedule/schedule.h"
#include "script/objects.h"

namespace loopsmith::script {

/// By the id of the loop or block. A plain name goes before a place in a list, the name bound last before earlier ones; `_` and what
/// is like it comes last.
[[nodiscard]] auto scope_names(const schedule::Schedule& schedule, const eval::Scope& scope) -> std::map<NodeId, std::string>;

/// The loop or block that a variable stands for; null: it is a number, or gone.
[[nodiscard]] auto place_of(const schedule::Schedule& schedule, const VariableObject& variable) -> const schedule::Place*;

}  // namespace loopsmith::script
