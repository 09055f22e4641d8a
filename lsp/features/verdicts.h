// Findings about schedules that are measured rather than read: errors where the results of a schedule differ from those of its program. A verdict holds
// as long as the text is the one that was measured.
#pragma once

#include <string>
#include <vector>

#include "lsp/features/measured.h"

namespace loopsmith::lsp {

struct Verdict {
  Span span;                  // the name of the schedule
  std::string code;           // "results-differ"
  std::string message;
  std::optional<Span> program = {};   // the name of the program, where it is in this text
  std::string about_program = {};     // a note for that place
};

[[nodiscard]] auto verdicts(const workspace::Snapshot& snapshot, const Measured& measured) -> std::vector<Verdict>;

}  // namespace loopsmith::lsp
