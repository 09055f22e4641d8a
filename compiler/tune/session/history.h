// What was measured of a program, search by search: when, how many trials, how the best came down, and why trials gave no time.
#pragma once

#include <string>

#include "ir/ir.h"
#include "tune/database/database.h"

namespace loopsmith::tune {

/// Lines of Markdown about the program with this text on a machine; newest search first. A search is what was measured without a pause of an hour.
[[nodiscard]] auto records_history(Database& database, const IRModule& program, const std::string& name, const std::string& machine) -> Result<std::string>;

}  // namespace loopsmith::tune
