// Findings from measurements of schedules: errors if the results of a schedule differ from those of its program. A verdict is valid
// until the measured text changes.
#pragma once

#include <string>
#include <vector>

#include "lsp/features/measured.h"

namespace loopsmith::lsp {

struct Verdict {
  Span span;                  // the name of the schedule
  std::string code;           // "results-differ"
  std::string message;
  std::optional<Span> program = {};   // the name of the program, if it is in this text
  std::string about_program = {};     // a note for the name of the program
};

[[nodiscard]] auto verdicts(const workspace::Snapshot& snapshot, const Measured& measured) -> std::vector<Verdict>;

}  // namespace loopsmith::lsp
