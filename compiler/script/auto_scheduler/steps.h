// The steps of a record of TVM's auto-scheduler, applied to the stages of its task: the fourteen kinds of its log.
//
// A step names stages and axes by their numbers at that time. A step that adds a stage shifts the numbers of the stages behind it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "schedule/trace.h"
#include "script/auto_scheduler/tasks.h"
#include "support/diagnostic.h"

namespace loopsmith::script::auto_scheduler {

struct Step {
  std::string kind;                                                                  // "SP", "RE" ...
  std::vector<std::variant<int64_t, std::string, std::vector<int64_t>>> arguments;   // behind the kind
};

/// The steps as primitives on the program of a task.
struct Applied {
  IRModule program;            // that the steps were applied to
  schedule::Trace trace;
};
/// The place of a record in a log, for errors.
struct RecordPlace {
  std::string file;
  size_t number = 0;           // of its line, from 1
};
/// An error names the record and the step that was refused.
[[nodiscard]] auto apply_steps(frontend::File& file, const Task& task, const std::vector<Step>& steps, const RecordPlace& place) -> Result<Applied>;

}  // namespace loopsmith::script::auto_scheduler
