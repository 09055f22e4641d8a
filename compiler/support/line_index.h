// Where the lines of a text begin, kept while the text is edited: an edit costs its own size and a shift of the
// starts behind it, never a scan of the text. The text itself is the caller's. Lines and byte columns count from 0;
// a line ends with "\n", "\r\n" or a lone "\r", as LSP says.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/origin.h"

namespace loopsmith {

class LineIndex {
 public:
  LineIndex() : LineIndex("") {}
  explicit LineIndex(std::string_view text);

  /// `text` is what the edit left; `replaced` the bytes of the text before it, `size` how many are there instead.
  void edit(std::string_view text, Span replaced, uint32_t size);

  [[nodiscard]] auto line_count() const -> uint32_t { return static_cast<uint32_t>(starts_.size()); }
  /// The line that a byte is in. Ends of lines belong to the line they end.
  [[nodiscard]] auto line_of(uint32_t offset) const -> uint32_t;
  /// `text.size()` for lines past the last.
  [[nodiscard]] auto line_start(std::string_view text, uint32_t line) const -> uint32_t;
  /// A line without its end; empty past the last.
  [[nodiscard]] auto line_text(std::string_view text, uint32_t line) const -> std::string_view;

  friend auto operator==(const LineIndex&, const LineIndex&) -> bool = default;

 private:
  std::vector<uint32_t> starts_;
};

}  // namespace loopsmith
