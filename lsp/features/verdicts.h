// Findings about schedules that are measured rather than read: results that differ from the program's, and a schedule that was found for another
// program. A verdict holds as long as the text is the one that was measured.
#pragma once

#include <string>
#include <vector>

#include "lsp/features/measured.h"

namespace loopsmith::lsp {

struct Verdict {
  Span span;                  // the name of the schedule
  bool is_error = false;      // else a piece of information
  std::string code;           // "results-differ", "tuned-for-another"
  std::string message;
  std::optional<Span> program = {};   // the name of the program, where it is in this text
  std::string about_program = {};     // a note for that place
};

/// `measured` must have records.
[[nodiscard]] auto verdicts(const workspace::Snapshot& snapshot, const Measured& measured) -> std::vector<Verdict>;

}  // namespace loopsmith::lsp
