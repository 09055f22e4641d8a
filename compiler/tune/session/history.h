// The history of a program's searches: their dates, trials, the course of the best time, and the reasons why trials have no time.
#pragma once

#include <string>

#include "ir/ir.h"
#include "tune/database/database.h"

namespace loopsmith::tune {

/// Markdown about the searches for a program on a machine, the newest first. Records without a pause of an hour between them belong to one search.
[[nodiscard]] auto records_history(Database& database, const IRModule& program, const std::string& name, const std::string& machine) -> Result<std::string>;

}  // namespace loopsmith::tune
