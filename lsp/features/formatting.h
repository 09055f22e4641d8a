// Formatting: the standard layout (compiler/format) as edits, for a text, a range of it, or the line that was just completed.
// The edits are the same as those of `loopsmith fmt`; the editor's options for tabs are ignored, so that the layout is the same everywhere.
#pragma once

#include <vector>

#include "format/format.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

[[nodiscard]] auto formatting(const workspace::Snapshot& snapshot) -> std::vector<format::Edit>;
/// Edits only lines that the span touches; aligns columns only in blocks that are wholly inside the span.
[[nodiscard]] auto range_formatting(const workspace::Snapshot& snapshot, Span span) -> std::vector<format::Edit>;
/// `at`: the byte after a typed line break and the blanks that the editor inserted after the break.
[[nodiscard]] auto on_type_formatting(const workspace::Snapshot& snapshot, uint32_t at) -> std::vector<format::Edit>;

}  // namespace loopsmith::lsp
