// Explanations of refused calls: a pair of iterations, repairs with the names of the script, and an edit that makes the
// nearest repair. Computed once for a statement that failed, not for every call.
#pragma once

#include "eval/evaluator.h"
#include "script/objects.h"
#include "support/cancel.h"
#include "support/diagnostic.h"

namespace loopsmith::script {

/// Adds the explanation to the diagnostic of the schedule's last refused call. Names of loops and blocks are looked up in `scope`. Trying repairs
/// may take longer than the call; after a cancellation fewer repairs are found.
void explain_refusal(Diagnostics& diagnostics, const ScheduleObject& schedule, const eval::Scope& scope, const CancelToken& cancel = {});

/// The lines that repair a statement in which a call was refused: with the call of the remedy before it, or instead of the refused call.
/// Empty if the remedy does not come from `explain_refusal`. `call` counts from the statement's first byte.
[[nodiscard]] auto repaired(const std::string& statement, Span call, const std::string& remedy) -> std::string;

/// Lines joined by `; `, for a list of choices.
[[nodiscard]] auto one_line(const std::string& lines) -> std::string;

}  // namespace loopsmith::script
