// A trace as a schedule function that a person would write: named variables, defaults left out, one primitive a line.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::tune {

struct ScheduleText {
  std::string program;                 // what the decorator names
  std::string name;                    // of the function
  std::string target;                  // in the decorator; empty: left out
  std::vector<std::string> comments;   // lines at the top of the body
  std::string schedule = "sch";        // what the function calls its schedule
  std::set<std::string> taken;         // names that variables must not have
};

/// The text ends with a line end. Fails where the trace does not replay on the module.
[[nodiscard]] auto schedule_function_text(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string>;
/// The statements alone, with their comments, for a function that is there: lines without indentation, and no line end behind the last.
[[nodiscard]] auto schedule_statements_text(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string>;

}  // namespace loopsmith::tune
