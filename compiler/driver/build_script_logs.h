// The logs that TVM's tuner leaves in its folder: one for each task, and the table of the tasks. They are written from the events of `loopsmith tune --json`.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/diagnostic.h"

namespace loopsmith::driver::build_script {

/// A task of a search. `events`: the events `progress` of the task, and last its `done` or `task`.
struct TaskLog {
  std::string name;
  std::string program;            // as text
  double weight = 1;
  std::vector<nlohmann::json> events;
};

/// Writes FOLDER/logs/tvm.meta_schedule.logging.task_N_NAME.log for each task, and FOLDER/logs/tvm.meta_schedule.logging.task_scheduler.log.
[[nodiscard]] auto write_logs(const std::string& folder, const std::vector<TaskLog>& tasks) -> Status;

}  // namespace loopsmith::driver::build_script
