// `loopsmith tune FILE --candidate STEPS`: measures schedules that someone else proposes, under the limits and checks of a search.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "driver/program.h"
#include "schedule/trace.h"
#include "tune/session/session.h"

namespace loopsmith::driver::commands {

inline const Option candidate_option{.name = "--candidate", .value = "STEPS", .help = "measures this schedule in place of a search: lines of script on `sch`, or a trace in TVM's JSON; may be given several times", .repeatable = true};

/// The candidates of the options for a program. A text that cannot be read is a candidate without steps.
[[nodiscard]] auto read_candidates(const Arguments& arguments, const Selection& selection) -> std::vector<Result<schedule::Trace>>;

/// The results of the candidates, in their order: `number`, `outcome`, `seconds` where they are known, `message` of a failure.
[[nodiscard]] auto candidates_as_json(const tune::Progress& progress) -> nlohmann::json;
/// The same as a line for each.
[[nodiscard]] auto candidates_as_text(const tune::Progress& progress) -> std::string;

}  // namespace loopsmith::driver::commands
