// Formatting: the standard layout (compiler/format) as edits, for a text, a range of it, and the line that was just ended.
// The same as `loopsmith fmt` makes; what an editor thinks of tabs is not asked, so that all doors give one answer.
#pragma once

#include <vector>

#include "format/format.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

[[nodiscard]] auto formatting(const workspace::Snapshot& snapshot) -> std::vector<format::Edit>;
/// Only lines that the span touches; columns only where a whole block is in it.
[[nodiscard]] auto range_formatting(const workspace::Snapshot& snapshot, Span span) -> std::vector<format::Edit>;
/// `at` is right after a line break that was typed, and the blanks an editor put there.
[[nodiscard]] auto on_type_formatting(const workspace::Snapshot& snapshot, uint32_t at) -> std::vector<format::Edit>;

}  // namespace loopsmith::lsp
