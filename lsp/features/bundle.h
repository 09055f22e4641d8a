// What goes into a report of a fault: the least of a file that shows it, with nothing in it of what people called things.
#pragma once

#include <string>
#include <vector>

#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct ReportedCase {
  std::string text;                  // a program that `loopsmith check` says the same of; empty: see `left_out`
  std::string left_out;              // why there is no text
  std::vector<std::string> codes;    // of what is found in it, in the order of the text: "error[loop-carried]"
  size_t declarations = 0;           // of the file that are left, of so many
  size_t of_declarations = 0;
};

/// Of the error at a place, or the first one, the declarations (those of files that it imports from among them) and steps without which it is
/// another; without errors, of the schedule or program at the place. Names become numbers, comments and texts go, but for words of the language;
/// sizes stay. Nothing is handed out in which a name, a comment or a string of a file is left.
[[nodiscard]] auto reported_case(const workspace::Snapshot& snapshot, uint32_t at, const CancelToken& cancel) -> ReportedCase;

}  // namespace loopsmith::lsp
