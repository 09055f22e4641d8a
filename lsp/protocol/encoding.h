// Columns, as editors count them. Inside the server, a position is a byte offset into UTF-8. This file converts between such offsets and
// lines and columns in the negotiated unit. No other part of the server counts in other units.
#pragma once

#include <cstdint>
#include <string_view>

#include "support/line_index.h"
#include "support/origin.h"

namespace loopsmith::lsp {

/// The unit of columns: bytes, 16-bit units (LSP's default) or code points.
enum class Encoding : uint8_t { Utf8, Utf16, Utf32 };

[[nodiscard]] auto encoding_name(Encoding encoding) -> std::string_view;

/// As LSP counts: from 0.
struct Position {
  uint32_t line = 0;
  uint32_t character = 0;
  friend auto operator==(const Position&, const Position&) -> bool = default;
};

struct TextRange {
  Position start;
  Position end;
  friend auto operator==(const TextRange&, const TextRange&) -> bool = default;
};

/// Bytes of a line (without its end) before a column. A column past the end counts as the end, a column inside a code
/// point as the start of the code point.
[[nodiscard]] auto column_to_bytes(std::string_view line, uint32_t column, Encoding encoding) -> uint32_t;
/// The column of a byte of a line. A byte inside a code point counts as its start.
[[nodiscard]] auto bytes_to_column(std::string_view line, uint32_t bytes, Encoding encoding) -> uint32_t;

/// Lines past the last count as the end of the text.
[[nodiscard]] auto to_offset(std::string_view text, const LineIndex& lines, Position at, Encoding encoding) -> uint32_t;
/// Offsets inside the end of a line ("\r\n") count as the end of the line's text.
[[nodiscard]] auto to_position(std::string_view text, const LineIndex& lines, uint32_t offset, Encoding encoding) -> Position;
[[nodiscard]] auto to_span(std::string_view text, const LineIndex& lines, TextRange range, Encoding encoding) -> Span;
[[nodiscard]] auto to_range(std::string_view text, const LineIndex& lines, Span span, Encoding encoding) -> TextRange;

}  // namespace loopsmith::lsp
