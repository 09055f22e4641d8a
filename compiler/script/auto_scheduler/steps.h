// The steps of a record of TVM's auto-scheduler, applied to the stages of its task: the fourteen kinds of its log.
//
// A step names stages and axes by their numbers at that time. A step that adds a stage shifts the numbers of the stages behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schedule/trace.h"
#include "script/auto_scheduler/state.h"
#include "script/auto_scheduler/tasks.h"
#include "script/objects.h"
#include "support/diagnostic.h"

namespace loopsmith::script::auto_scheduler {

/// The program of a task with its stages: made once, for all records and candidates.
struct Prepared {
  IRModule program;
  std::shared_ptr<const te::Stages> stages;
};
/// None: the task computes no tensors that can be scheduled.
[[nodiscard]] auto prepare(frontend::File& file, const Task& task) -> std::optional<Prepared>;

/// The same for the tensors of a task.
[[nodiscard]] auto prepare(eval::Evaluator& evaluator, const std::vector<eval::Value>& tensors, Origin where) -> std::optional<Prepared>;

/// The schedule of a task after some steps; later statements may change its stages. `extents` as in `Applied`.
struct Scheduled {
  Ref<ScheduleObject> schedule;
  std::vector<std::vector<int64_t>> extents;
};
/// Applies the steps. A string is the reason why a step was refused.
[[nodiscard]] auto schedule_of_steps(eval::Evaluator& evaluator, const Prepared& prepared, const std::vector<eval::Value>& tensors, const std::vector<Step>& steps)
    -> std::variant<Scheduled, std::string>;

/// The steps as primitives on the program of a task.
struct Applied {
  IRModule program;                            // that the steps were applied to
  schedule::Trace trace;
  std::vector<std::vector<int64_t>> extents;   // of the axes of each stage, by the numbers of a state; 0: not known
};
/// The place of a record in a log, for errors.
struct RecordPlace {
  std::string file;
  size_t number = 0;           // of its line, from 1
};
/// An error names the record and the step that was refused.
[[nodiscard]] auto apply_steps(frontend::File& file, const Task& task, const std::vector<Step>& steps, const RecordPlace& place) -> Result<Applied>;
/// The same for a candidate of a search: the steps are translated once, at the end.
[[nodiscard]] auto apply_candidate(frontend::File& file, const Task& task, const Prepared& prepared, const std::vector<Step>& steps) -> Result<Applied>;

}  // namespace loopsmith::script::auto_scheduler
