// A comparison of two schedules of one program: their common statements, their different statements, and their results.
#pragma once

#include <string>
#include <string_view>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Markdown: an overview of both, their statements side by side, and the difference of their programs. Empty: one is not in the file or did
/// not run to its end, or they are for different programs.
[[nodiscard]] auto schedules_compared(const workspace::Snapshot& snapshot, std::string_view first, std::string_view second) -> std::string;

}  // namespace loopsmith::lsp
