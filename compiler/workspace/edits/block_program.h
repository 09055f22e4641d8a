// A program and a schedule of its blocks as a text: what a schedule of tensor expressions, or a configuration of a template, became.
#pragma once

#include <string>

#include "ir/ir.h"
#include "support/diagnostic.h"
#include "workspace/edits/schedule_text.h"
#include "workspace/snapshot.h"

namespace loopsmith::workspace {

/// A program as a function with this name, without imports.
[[nodiscard]] auto program_text(const IRModule& module, const std::string& name) -> std::string;

/// The text of both for the end of a file, in its form and with the import that the program needs. `form.program` is the name of the program. `before`: a text in front of the program, behind the import.
/// Fails if the trace does not replay on the module.
[[nodiscard]] auto program_and_schedule(const Snapshot& snapshot, const IRModule& module, const std::string& trace_json, const ScheduleText& form, const std::string& before = {}) -> Result<std::string>;

}  // namespace loopsmith::workspace
