// Two schedules of one program beside one another: which statements they share, where they part, what each comes to.
#pragma once

#include <string>
#include <string_view>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Lines of Markdown: both at a glance, their statements aligned, the programs they make compared. Empty: one of them is none of the file's, or
/// did not run to its end, or they are of different programs.
[[nodiscard]] auto schedules_compared(const workspace::Snapshot& snapshot, std::string_view first, std::string_view second) -> std::string;

}  // namespace loopsmith::lsp
