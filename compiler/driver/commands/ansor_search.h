// The search of `tune` in the space of the auto-scheduler: the sketches of a task by its rules. A point of the search is a candidate of a sketch, which has steps for a log.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/program.h"
#include "script/auto_scheduler/annotate.h"
#include "script/auto_scheduler/steps.h"
#include "tune/session/session.h"
#include "tune/space/template_sketch.h"

namespace loopsmith::driver::commands {

class AnsorSearch {
 public:
  /// `selection` has the program of the task, and outlives the search.
  AnsorSearch(const Selection& selection, script::auto_scheduler::Task task) : selection_(selection), task_(std::move(task)) {}
  /// Fails where the rules make no sketch of the task.
  [[nodiscard]] auto space(const tune::SpaceContext& context) -> Result<tune::Sketches>;
  /// The record of a candidate as a line of a log; empty: no point made this trace. `seconds`: 0 for a candidate without a time.
  [[nodiscard]] auto line(const std::string& trace, double seconds) const -> std::string;

 private:
  const Selection& selection_;
  script::auto_scheduler::Task task_;
  std::shared_ptr<std::map<std::string, std::vector<script::auto_scheduler::Step>>> steps_ = std::make_shared<std::map<std::string, std::vector<script::auto_scheduler::Step>>>();   // by trace
};

/// The task of a selected program; none: the program is not a task of the auto-scheduler.
[[nodiscard]] auto task_of(const Selection& selection) -> std::optional<script::auto_scheduler::Task>;

}  // namespace loopsmith::driver::commands
