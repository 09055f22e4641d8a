// Trials of a search as lines of a log of TVM's older tuners.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tune/session/session.h"

namespace loopsmith::driver::commands {

/// The line of a record in a log, with its result; empty: the record is of no template and of no task of the auto-scheduler.
[[nodiscard]] auto log_line_of(const tune::Record& record) -> std::string;

/// Appends the trials that the database has of the programs of a search to a log, unless it has them. `is_wanted`: a line of the template or task. Returns their number.
[[nodiscard]] auto append_trials(const std::string& path, const tune::SessionOptions& options, const std::vector<tune::TaskKey>& tasks, const std::function<bool(const std::string&)>& is_wanted)
    -> Result<size_t>;

}  // namespace loopsmith::driver::commands
