// Line index of a text: see origin.h.
#include "support/origin.h"

#include <algorithm>

namespace loopsmith {

SourceText::SourceText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (uint32_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n' || (text_[i] == '\r' && (i + 1 == text_.size() || text_[i + 1] != '\n'))) {
      line_starts_.push_back(i + 1);
    }
  }
}

auto SourceText::line_start(uint32_t line) const -> uint32_t {
  return line < line_starts_.size() ? line_starts_[line] : static_cast<uint32_t>(text_.size());
}

auto SourceText::line_text(uint32_t line) const -> std::string_view {
  uint32_t begin = line_start(line);
  uint32_t end = line_start(line + 1);
  while (end > begin && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) { --end; }
  return std::string_view(text_).substr(begin, end - begin);
}

auto SourceText::line_column(uint32_t offset) const -> LineColumn {
  offset = std::min(offset, static_cast<uint32_t>(text_.size()));
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  auto line = static_cast<uint32_t>(after - line_starts_.begin()) - 1;
  return {line, offset - line_starts_[line]};
}

}  // namespace loopsmith
