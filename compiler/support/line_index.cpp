// Updates line starts after edits: see line_index.h.
#include "support/line_index.h"

#include <algorithm>

namespace loopsmith {
namespace {

/// Adds the starts of lines behind the line ends in [begin, end).
void scan(std::string_view text, uint32_t begin, uint32_t end, std::vector<uint32_t>& starts) {
  for (uint32_t i = begin; i < end; ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) { starts.push_back(i + 1); }
  }
}

}  // namespace

LineIndex::LineIndex(std::string_view text) {
  starts_.push_back(0);
  scan(text, 0, static_cast<uint32_t>(text.size()), starts_);
}

void LineIndex::edit(std::string_view text, Span replaced, uint32_t size) {
  // Includes the byte before the edit: a "\r" there ends a line unless a "\n" follows it now.
  std::vector<uint32_t> fresh;
  scan(text, replaced.begin == 0 ? 0 : replaced.begin - 1, replaced.begin + size, fresh);
  auto from = std::lower_bound(starts_.begin() + 1, starts_.end(), std::max(replaced.begin, 1U));
  auto to = std::upper_bound(from, starts_.end(), replaced.end);
  for (auto start = to; start != starts_.end(); ++start) { *start += size - (replaced.end - replaced.begin); }
  if (fresh.size() == static_cast<size_t>(to - from)) {
    std::copy(fresh.begin(), fresh.end(), from);
    return;
  }
  from = starts_.erase(from, to);
  starts_.insert(from, fresh.begin(), fresh.end());
}

auto LineIndex::line_of(uint32_t offset) const -> uint32_t {
  return static_cast<uint32_t>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin()) - 1;
}

auto LineIndex::line_start(std::string_view text, uint32_t line) const -> uint32_t {
  return line < starts_.size() ? starts_[line] : static_cast<uint32_t>(text.size());
}

auto LineIndex::line_text(std::string_view text, uint32_t line) const -> std::string_view {
  uint32_t begin = line_start(text, line);
  uint32_t end = line_start(text, line + 1);
  while (end > begin && (text[end - 1] == '\n' || text[end - 1] == '\r')) { --end; }
  return text.substr(begin, end - begin);
}

}  // namespace loopsmith
