// The notation of values in transcripts. A person can read it, and the parts that the runner sends parse back.
//
// It is JSON with positions and ranges in short (`3:14`, `3:14-3:20`: lines and characters from 0, as in LSP), names of members without quotes,
// and texts of several lines as text:
//   contents:
//     kind: "markdown"
//     value: |
//       one line
//       and another
// `|-` where the last line has no end. What fits in a line stands in one: `{label: "split", kind: 2}`.
#pragma once

#include <string>
#include <string_view>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp::golden {

/// Spaces that texts and values stand behind the line that they belong to.
inline constexpr size_t indent = 4;

/// In one line; a text of several lines as JSON has it.
[[nodiscard]] auto one_line(const Json& value) -> std::string;

/// ` VALUE` where it fits behind `width_before` characters, else its lines, indented, each behind a line end.
[[nodiscard]] auto notation(const Json& value, size_t width_before) -> std::string;

/// The lines of a text behind ` |` or ` |-`, indented. Only what `is_block` says.
[[nodiscard]] auto block(std::string_view text, size_t depth) -> std::string;

/// A text that reads better as lines, and comes back the same from them.
[[nodiscard]] auto is_block(std::string_view text) -> bool;

/// Strings such as "3:14" and "3:14-3:20" become positions and ranges, wherever they are.
void expand_places(Json& value);

/// The reverse, for writing JSON that is sent.
[[nodiscard]] auto with_short_places(const Json& value) -> Json;

/// A position, or a range, in short; empty: it is neither.
[[nodiscard]] auto place_text(const Json& value) -> std::string;

}  // namespace loopsmith::lsp::golden
