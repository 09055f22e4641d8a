// Inserts a schedule that a search found into the text: behind its program, in place of another schedule, or in the hole that the search
// was for. The search may be an earlier one.
#pragma once

#include <string>
#include <string_view>

#include "lsp/features/lines.h"
#include "lsp/features/tuning.h"
#include "lsp/jobs/facts.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The title of the edit that inserts a schedule behind its program.
inline constexpr const char* insert_title = "Insert best schedule";

struct FoundSchedule {
  std::string function;   // the program that was searched
  std::string text;       // the schedule function
};

/// `replaced`: the schedule to replace; empty: the schedule goes behind the program. Without edits `why_not` is an error message.
[[nodiscard]] auto write_found(const workspace::Snapshot& snapshot, const FoundSchedule& found, std::string_view replaced) -> TextRewrite;

/// The result of a finished search: a schedule as above, or the statements for a hole.
[[nodiscard]] auto write_result(const workspace::Snapshot& snapshot, const JobFacts& job, std::string_view replaced) -> TextRewrite;

}  // namespace loopsmith::lsp
