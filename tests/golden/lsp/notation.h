// The notation of values in transcripts. It is readable, and the parts that the runner sends can be parsed.
//
// It is JSON with short positions and ranges (`3:14`, `3:14-3:20`: lines and characters from 0, as in LSP), names of members without quotes,
// and texts of several lines as text:
//   contents:
//     kind: "markdown"
//     value: |
//       one line
//       and another
// `|-`: the last line has no line end. A value that fits is written on one line: `{label: "split", kind: 2}`.
#pragma once

#include <string>
#include <string_view>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp::golden {

/// The indentation of texts and values below their line.
inline constexpr size_t indent = 4;

/// The value on one line; a text of several lines as a JSON string.
[[nodiscard]] auto one_line(const Json& value) -> std::string;

/// ` VALUE` if it fits after `width_before` characters, or else its lines, indented, each after a line end.
[[nodiscard]] auto notation(const Json& value, size_t width_before) -> std::string;

/// The lines of a text after ` |` or ` |-`, indented. Requires `is_block`.
[[nodiscard]] auto block(std::string_view text, size_t depth) -> std::string;

/// True for a text that is more readable as lines, and can be restored from the lines.
[[nodiscard]] auto is_block(std::string_view text) -> bool;

/// Replaces strings such as "3:14" and "3:14-3:20" by positions and ranges, at any depth.
void expand_places(Json& value);

/// The reverse, to print JSON that is sent.
[[nodiscard]] auto with_short_places(const Json& value) -> Json;

/// The short form of a position or a range; empty: the value is neither.
[[nodiscard]] auto place_text(const Json& value) -> std::string;

}  // namespace loopsmith::lsp::golden
