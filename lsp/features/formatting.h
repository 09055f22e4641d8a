// Formatting: the standard layout (compiler/format) as edits, for a text, a range of it, and the line that was just ended.
// The edits are those of `loopsmith fmt`; options of the editor about tabs are ignored, so that all give the same layout.
#pragma once

#include <vector>

#include "format/format.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

[[nodiscard]] auto formatting(const workspace::Snapshot& snapshot) -> std::vector<format::Edit>;
/// Only lines that the span touches; columns only where a whole block is in it.
[[nodiscard]] auto range_formatting(const workspace::Snapshot& snapshot, Span span) -> std::vector<format::Edit>;
/// `at`: behind a typed line break and the blanks that the editor inserted after it.
[[nodiscard]] auto on_type_formatting(const workspace::Snapshot& snapshot, uint32_t at) -> std::vector<format::Edit>;

}  // namespace loopsmith::lsp
