// The search of `tune` in the space of an AutoTVM template: the template runs once for each point, and its trials can go into a log.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "driver/program.h"
#include "tune/session/session.h"
#include "tune/space/template_sketch.h"

namespace loopsmith::driver::commands {

class TemplateSearch {
 public:
  /// `selection` has a template with knobs, and outlives the search.
  explicit TemplateSearch(const Selection& selection);
  [[nodiscard]] auto space(const tune::SpaceContext& context) -> Result<tune::Sketches>;

  /// The configuration of a candidate in words, "tile_y=[-1, 8], tile_x=[-1, 64]"; empty: no point made this trace.
  [[nodiscard]] auto configuration(const std::string& trace) const -> std::string;
  /// The record of a candidate as a line of AutoTVM's log; empty: no point made this trace. `seconds`: 0 for a candidate without a time.
  [[nodiscard]] auto line(const std::string& trace, double seconds) const -> std::string;

 private:
  const Selection& selection_;
  std::vector<eval::Value> arguments_;
  /// The choices that are searched: of a knob with very many, every n-th one.
  std::vector<std::vector<size_t>> searched_;
  std::shared_ptr<std::map<std::string, tune::Point>> points_;   // by trace
  [[nodiscard]] auto decisions(const tune::Point& point) const -> script::autotvm::Decisions;
};

}  // namespace loopsmith::driver::commands
