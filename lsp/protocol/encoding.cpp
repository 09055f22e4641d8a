// Counting columns in UTF-8, UTF-16 and UTF-32: see encoding.h.
#include "lsp/protocol/encoding.h"

#include <algorithm>

#include "support/text.h"

namespace loopsmith::lsp {
namespace {

/// Units of the code point that starts with this byte.
auto units(char first, Encoding encoding) -> uint32_t {
  return encoding == Encoding::Utf16 && static_cast<unsigned char>(first) >= 0xF0U ? 2 : 1;
}

/// The start of the code point that a byte belongs to.
auto align(std::string_view line, uint32_t bytes) -> uint32_t {
  while (bytes > 0 && bytes < line.size() && is_inside_character(line[bytes])) { --bytes; }
  return bytes;
}

}  // namespace

auto encoding_name(Encoding encoding) -> std::string_view {
  switch (encoding) {
    case Encoding::Utf8: return "utf-8";
    case Encoding::Utf16: return "utf-16";
    case Encoding::Utf32: return "utf-32";
  }
  return "utf-16";
}

auto column_to_bytes(std::string_view line, uint32_t column, Encoding encoding) -> uint32_t {
  auto size = static_cast<uint32_t>(line.size());
  if (encoding == Encoding::Utf8) { return align(line, std::min(column, size)); }
  uint32_t bytes = 0;
  while (bytes < size) {
    uint32_t width = units(line[bytes], encoding);
    if (width > column) { break; }
    column -= width;
    do { ++bytes; } while (bytes < size && is_inside_character(line[bytes]));
  }
  return bytes;
}

auto bytes_to_column(std::string_view line, uint32_t bytes, Encoding encoding) -> uint32_t {
  bytes = align(line, std::min(bytes, static_cast<uint32_t>(line.size())));
  if (encoding == Encoding::Utf8) { return bytes; }
  uint32_t column = 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    if (!is_inside_character(line[i])) { column += units(line[i], encoding); }
  }
  return column;
}

auto to_offset(std::string_view text, const LineIndex& lines, Position at, Encoding encoding) -> uint32_t {
  return lines.line_start(text, at.line) + column_to_bytes(lines.line_text(text, at.line), at.character, encoding);
}

auto to_position(std::string_view text, const LineIndex& lines, uint32_t offset, Encoding encoding) -> Position {
  offset = std::min(offset, static_cast<uint32_t>(text.size()));
  uint32_t line = lines.line_of(offset);
  return {line, bytes_to_column(lines.line_text(text, line), offset - lines.line_start(text, line), encoding)};
}

auto to_span(std::string_view text, const LineIndex& lines, TextRange range, Encoding encoding) -> Span {
  uint32_t begin = to_offset(text, lines, range.start, encoding);
  uint32_t end = to_offset(text, lines, range.end, encoding);
  return {std::min(begin, end), std::max(begin, end)};
}

auto to_range(std::string_view text, const LineIndex& lines, Span span, Encoding encoding) -> TextRange {
  return {to_position(text, lines, span.begin, encoding), to_position(text, lines, span.end, encoding)};
}

}  // namespace loopsmith::lsp
