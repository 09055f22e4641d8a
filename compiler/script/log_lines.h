// Lines of logs of TVM's older tuners as texts: a line of AutoTVM or of the auto-scheduler is kept beside a trial, and written into a log again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace loopsmith::script {

/// The tuner that wrote a line, by the names of `db export --format`.
enum class LineForm : uint8_t { Other, AutoTvm, Ansor };
[[nodiscard]] auto form_of_line(std::string_view line) -> LineForm;

/// The errors that TVM's tuners write for a trial without a time.
enum class LineError : uint8_t { None = 0, Runtime = 4, WrongAnswer = 5, RunTimeout = 7 };
/// The line with another result. `seconds`: of one run; 0: the trial has no time, for the reason `why`. A line with this time already stays as it is.
[[nodiscard]] auto with_result(const std::string& line, double seconds, LineError why) -> std::string;

}  // namespace loopsmith::script
