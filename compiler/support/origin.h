// Origins of nodes. The IR never holds positions in a file: it holds origins, which stay true when text above
// them moves. A snapshot of a document turns an origin into a span, and a span into the editor's lines and
// columns in the negotiated encoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopsmith {

/// A number for a top-level declaration of a document, or for the whole document; unique in the process.
/// 0: none.
using DeclId = uint32_t;

/// The origin of a node: a declaration, the bytes inside it (counted from the declaration's first byte), and
/// the schedule statement that made the node (0: none; else 1 + index of the statement in its schedule
/// function). Equality and hashes of the IR ignore it.
struct Origin {
  DeclId decl = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t step = 0;

  [[nodiscard]] auto is_known() const -> bool { return decl != 0; }
  friend auto operator==(const Origin&, const Origin&) -> bool = default;
};

/// Bytes of one text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  friend auto operator==(const Span&, const Span&) -> bool = default;
};

/// A text with an index of its lines. Lines and byte columns count from 0. A line ends with "\n", "\r\n"
/// or a lone "\r", as in LSP.
class SourceText {
 public:
  SourceText() : SourceText("", "") {}
  SourceText(std::string name, std::string text);

  struct LineColumn { uint32_t line; uint32_t column; };

  [[nodiscard]] auto name() const -> const std::string& { return name_; }
  [[nodiscard]] auto text() const -> const std::string& { return text_; }
  [[nodiscard]] auto line_count() const -> uint32_t { return static_cast<uint32_t>(line_starts_.size()); }
  /// Byte offset of a line's first byte; the text's length for lines past the end.
  [[nodiscard]] auto line_start(uint32_t line) const -> uint32_t;
  /// A line without its end.
  [[nodiscard]] auto line_text(uint32_t line) const -> std::string_view;
  /// Offsets past the end count as the end.
  [[nodiscard]] auto line_column(uint32_t offset) const -> LineColumn;

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

}  // namespace loopsmith
