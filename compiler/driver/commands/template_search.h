// The search of `tune` in the space of an AutoTVM template: the template runs once for each point, with the program and the steps of these choices.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/program.h"
#include "tune/session/session.h"
#include "tune/space/template_sketch.h"

namespace loopsmith::driver::commands {

class TemplateSearch {
 public:
  /// `selection` has a template with knobs, and outlives the search.
  explicit TemplateSearch(const Selection& selection);
  [[nodiscard]] auto space(const tune::SpaceContext& context) -> Result<tune::Sketches>;

  /// The configuration of a record in words, "tile_y=[-1, 8], tile_x=[-1, 64]". `line`: of a log.
  [[nodiscard]] static auto configuration(const std::string& line) -> std::string;
  /// True for the record of a log that is of this template with these arguments.
  [[nodiscard]] auto is_of_task(const std::string& line) const -> bool;
  /// The run of the template with the configuration of a record.
  [[nodiscard]] auto run(const std::string& line) const -> Result<script::ScheduleRun>;
  /// The first configuration whose tensors differ from those of the task, in words: its time cannot be compared, so the search leaves it out. Empty: there was none.
  [[nodiscard]] auto left_out() const -> const std::string& { return left_out_; }

 private:
  const Selection& selection_;
  std::vector<eval::Value> arguments_;
  /// The choices that are searched: of a knob with very many, every n-th one.
  std::vector<std::vector<size_t>> searched_;
  std::map<uint64_t, std::vector<IRModule>> programs_;   // that differ from the one of the fallback, by hash: each once
  std::string left_out_;
  [[nodiscard]] auto decisions(const tune::Point& point) const -> script::autotvm::Decisions;
  [[nodiscard]] auto run(script::autotvm::Decisions decisions) const -> Result<script::ScheduleRun>;
  [[nodiscard]] auto run(const tune::Point& point) -> Result<tune::TemplateRun>;
  [[nodiscard]] auto line(const tune::Point& point, double seconds) const -> std::string;
};

}  // namespace loopsmith::driver::commands
