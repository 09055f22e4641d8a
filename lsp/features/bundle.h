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
  size_t declarations = 0;           // the number of declarations that are left, of `of_declarations` in the file
  size_t of_declarations = 0;
};

/// Keeps the declarations (also of imported files) and steps without which the error at a place, or the first error, would change; without
/// errors those of the schedule or program at the place. Names are replaced by numbered ones; comments and strings are removed, except words of the
/// language; sizes stay. The result never contains a name, a comment or a string of a file; otherwise no text is returned.
[[nodiscard]] auto reported_case(const workspace::Snapshot& snapshot, uint32_t at, const CancelToken& cancel) -> ReportedCase;

}  // namespace loopsmith::lsp
