// Values of the script in words: a loop by its name, extent and kind, a block by its name, a drawn number, lists of these. Other values
// are printed in the form of Python's repr().
#pragma once

#include <string>

#include "eval/evaluator.h"
#include "schedule/schedule.h"
#include "syntax/document.h"

namespace loopsmith::repl {

/// "i_0:64 parallel", "block C", "[n:1, h:28]", "8", "l3 (gone)". A list is cut if it is longer than `most` characters.
[[nodiscard]] auto describe_value(const schedule::Schedule& schedule, const eval::Value& value, size_t most = 2000) -> std::string;

/// The variables that statements bound, in the editor's form behind a statement: "i0:64 i1:8 b:C n=4 loops:[n:1, h:28]".
[[nodiscard]] auto describe_bound(const syntax::Document& document, const eval::Scope& scope, const schedule::Schedule& schedule, size_t most) -> std::string;

/// True for a loop, block or number of the schedule, and for a list of these.
[[nodiscard]] auto is_handle(const eval::Value& value) -> bool;

}  // namespace loopsmith::repl
