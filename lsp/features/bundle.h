// The program in a report of a fault: the smallest part of a file that still shows the fault, with all names and texts replaced.
#pragma once

#include <string>
#include <vector>

#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct ReportedCase {
  std::string text;                  // a program with the same findings of `loopsmith check`; empty: see `left_out`
  std::string left_out;              // the reason why `text` is empty
  std::vector<std::string> codes;    // of its findings, in the order of the text: "error[loop-carried]"
  size_t declarations = 0;           // that are left, of `of_declarations` in the file
  size_t of_declarations = 0;
};

/// Keeps the declarations (of imported files too) and the steps without which the error at a place, or the first error, would be another one; without
/// errors those of the schedule or program at the place. Names become numbers; comments and strings are removed, except words of the language;
/// sizes stay. No text is returned that still has a name, a comment or a string of a file.
[[nodiscard]] auto reported_case(const workspace::Snapshot& snapshot, uint32_t at, const CancelToken& cancel) -> ReportedCase;

}  // namespace loopsmith::lsp
