// The records that a file applies to its templates: `with autotvm.apply_history_best("matmul.log"):`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/file.h"
#include "script/autotvm/space.h"
#include "support/diagnostic.h"

namespace loopsmith::script::autotvm {

struct History {
  std::shared_ptr<const Decisions> decisions;   // of the fastest record; null: the template has its fallback configuration
  Diagnostics diagnostics;                      // at the call that names the log
};
/// The fastest record for a task, of the first log with one. `pick_best("all.log", "best.log")` makes "best.log" stand for "all.log" while it is missing.
[[nodiscard]] auto history_of(frontend::File& file, const std::string& template_name, const std::vector<eval::Value>& arguments) -> History;

}  // namespace loopsmith::script::autotvm
