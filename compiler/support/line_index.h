// The starts of a text's lines, updated with every edit: an edit costs its own size plus a shift of the later
// starts, never a scan of the whole text. The caller owns the text. Lines and byte columns count from 0; a line ends with "\n",
// "\r\n" or a lone "\r", as in LSP.
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

  /// `text` is the text after the edit, `replaced` the bytes of the old text that it replaced, `size` the number of new bytes.
  void edit(std::string_view text, Span replaced, uint32_t size);

  [[nodiscard]] auto line_count() const -> uint32_t { return static_cast<uint32_t>(starts_.size()); }
  /// The line of a byte. The end of a line belongs to that line.
  [[nodiscard]] auto line_of(uint32_t offset) const -> uint32_t;
  /// `text.size()` for lines past the last.
  [[nodiscard]] auto line_start(std::string_view text, uint32_t line) const -> uint32_t;
  /// A line without its line end; empty past the last line.
  [[nodiscard]] auto line_text(std::string_view text, uint32_t line) const -> std::string_view;

  friend auto operator==(const LineIndex&, const LineIndex&) -> bool = default;

 private:
  std::vector<uint32_t> starts_;
};

}  // namespace loopsmith
