// What is said of schedules by more than their text: results that were compared and differ, and the program that a search found one for. A verdict
// holds as long as the text is the one that it is of.
#pragma once

#include "lsp/worker/routes.h"

namespace loopsmith::lsp {

/// Adds what a text shows of them: an error on a schedule that changes the results, and where a schedule was found for another program than the one
/// it names now, what still holds of it.
void add_verdicts(const workspace::Snapshot& snapshot, Encoding encoding, const std::map<uint64_t, JobFacts>& jobs, Records& records, Json& diagnostics);

/// A schedule that a search found, for another program than the one it names now. False too where it does not say so, or nobody knows yet.
[[nodiscard]] auto is_of_another_program(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, Records& records) -> bool;

}  // namespace loopsmith::lsp
