// A schedule that a search found, now or on an earlier day, written into the text: behind its program, in place of another schedule, or into the
// hole that it was searched for.
#pragma once

#include <optional>
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
  std::string function;                   // the program that was searched
  std::string text;                       // the schedule function
  std::optional<Insertion> insert = {};   // its place, as long as the text is the one that was searched
};

/// `replaced`: the schedule whose place it takes; empty: none, it goes behind the program. Without edits `why_not` is an error message.
[[nodiscard]] auto write_found(const workspace::Snapshot& snapshot, const FoundSchedule& found, std::string_view replaced) -> TextRewrite;

/// The result of a search that is done: a schedule as above, or the statements for a hole.
[[nodiscard]] auto write_result(const workspace::Snapshot& snapshot, const JobFacts& job, std::string_view replaced) -> TextRewrite;

}  // namespace loopsmith::lsp
