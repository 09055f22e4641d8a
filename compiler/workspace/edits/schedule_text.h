// Prints a trace as a schedule function in the style of a person: named variables, defaults left out, one primitive a line.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "schedule/intrinsics.h"
#include "support/diagnostic.h"

namespace loopsmith::workspace {

struct ScheduleText {
  std::string program;                 // the decorator's argument
  std::string name;                    // of the function
  std::string target;                  // in the decorator; empty: left out
  std::vector<std::string> comments;   // lines at the top of the body
  std::string schedule = "sch";        // the function's name for its schedule
  std::set<std::string> taken;         // names that variables must not use
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics = nullptr;   // of the file, and declared by the schedule
};

/// The text ends with a line break. Fails if the trace does not replay on the module.
[[nodiscard]] auto schedule_function_text(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string>;
/// Only the statements and their comments, for an existing function: lines without indentation, the last without a line break.
[[nodiscard]] auto schedule_statements_text(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string>;

}  // namespace loopsmith::workspace
