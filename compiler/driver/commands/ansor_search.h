// The search of `tune` in the space of the auto-scheduler: the sketches of a task by its rules. A point of the search is a candidate of a sketch, which has steps for a log.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/program.h"
#include "script/auto_scheduler/annotate.h"
#include "script/auto_scheduler/log.h"
#include "script/auto_scheduler/steps.h"
#include "tune/session/session.h"
#include "tune/space/template_sketch.h"

namespace loopsmith::driver::commands {

class AnsorSearch {
 public:
  /// `selection` has the program of the task, and outlives the search. `preloaded`: records of the task whose states the search begins with.
  AnsorSearch(const Selection& selection, script::auto_scheduler::Task task, std::vector<script::auto_scheduler::AnsorRecord> preloaded);
  ~AnsorSearch();
  AnsorSearch(const AnsorSearch&) = delete;
  auto operator=(const AnsorSearch&) -> AnsorSearch& = delete;
  /// Fails where the rules make no sketch of the task.
  [[nodiscard]] auto space(const tune::SpaceContext& context) -> Result<tune::Sketches>;
  /// True for the record of a log that is of this task.
  [[nodiscard]] auto is_of_task(const std::string& line) const -> bool;
  /// The points of the preloaded states in the sketches of `space`.
  [[nodiscard]] auto known_points() const -> std::vector<tune::KnownPoint>;
  [[nodiscard]] auto preloaded() const -> const std::vector<script::auto_scheduler::AnsorRecord>& { return preloaded_; }

 private:
  const Selection& selection_;
  script::auto_scheduler::Task task_;
  std::vector<script::auto_scheduler::AnsorRecord> preloaded_;
  struct OpenSketch;
  std::vector<std::shared_ptr<const OpenSketch>> open_;   // of `space`
};

/// The task of a selected program; none: the program is not a task of the auto-scheduler.
[[nodiscard]] auto task_of(const Selection& selection) -> std::optional<script::auto_scheduler::Task>;

}  // namespace loopsmith::driver::commands
