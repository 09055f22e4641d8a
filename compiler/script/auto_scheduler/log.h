// Logs of TVM's auto-scheduler (Ansor): a line of JSON for each trial, `{"i": [[WORKLOAD, TARGET, ...], [[], STEPS]], "r": [SECONDS, ERROR, ...], "v": "v0.6"}`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/value.h"
#include "script/auto_scheduler/sketches.h"
#include "script/auto_scheduler/steps.h"
#include "support/diagnostic.h"

namespace loopsmith::script::auto_scheduler {

struct AnsorRecord {
  size_t number = 0;                       // of its line, from 1
  std::string workload;                    // the name of the function; of a graph's task, a hash
  std::vector<eval::Value> arguments;
  std::string target;                      // as written
  std::vector<Step> steps;
  std::vector<double> seconds;             // of each run; empty: not measured
  std::string line;                        // as the log has it
  std::optional<GpuParameters> gpu = {};   // of the device that measured; none: a processor

  /// The mean; 0: not measured.
  [[nodiscard]] auto mean() const -> double;
};

/// True for a text whose first line is a record of the auto-scheduler.
[[nodiscard]] auto is_ansor_log(std::string_view text) -> bool;
[[nodiscard]] auto read_ansor_log(const std::string& path, const std::string& text) -> Result<std::vector<AnsorRecord>>;

/// A line without its end, in the form of version 0.6. The hardware parameters are those of this machine.
[[nodiscard]] auto ansor_line(const AnsorRecord& record) -> std::string;

/// Finds the task of a file that a log is for: the task of the variable, or else the first task with records. Fails with the reason why the first record fits none.
struct AnsorChoice {
  Task task;
  AnsorRecord record;                      // the fastest of the task
};
[[nodiscard]] auto best_of_log(const std::string& path, const std::vector<AnsorRecord>& records, const std::vector<Task>& tasks, const std::string& variable)
    -> Result<AnsorChoice>;
/// True when a record is of a task.
[[nodiscard]] auto is_of_task(const AnsorRecord& record, const Task& task) -> bool;

}  // namespace loopsmith::script::auto_scheduler
