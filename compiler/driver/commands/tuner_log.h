// Trials of a search as lines of a log of TVM's older tuners.
#pragma once

#include <functional>
#include <string>

#include "driver/program.h"
#include "tune/session/session.h"

namespace loopsmith::driver::commands {

/// The line of a trial; empty: the trial is not one of this search. `seconds`: 0 for a trial without a time.
using LogLine = std::function<std::string(const std::string& trace, double seconds)>;

/// Appends the trials that the database has of the program to a log. Returns their number. `device`: that measured; empty: the processor.
[[nodiscard]] auto append_trials(const std::string& path, const Selection& selection, const tune::SessionOptions& options, const std::string& device, const LogLine& line) -> Result<size_t>;

}  // namespace loopsmith::driver::commands
