// Formats text for a terminal: see text.h.
#include "repl/text.h"

#include <algorithm>

namespace loopsmith::repl {

auto trim(std::string_view text) -> std::string_view {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t')) { text.remove_prefix(1); }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t' || text.back() == '\r')) { text.remove_suffix(1); }
  return text;
}

auto columns_of(std::string_view line) -> size_t {
  size_t count = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      // "ESC [ ... letter"
      while (i + 1 < line.size() && (line[i] < '@' || line[i] > '~' || line[i] == '[')) { ++i; }
      continue;
    }
    bool is_first = (static_cast<unsigned char>(line[i]) & 0xC0U) != 0x80U;
    if (is_first && line[i] != '\n' && line[i] != '\r') { ++count; }
  }
  return count;
}

auto wrapped(std::string_view text, size_t width, size_t indent) -> std::string {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    size_t begin = std::min(text.find_first_not_of(' '), text.size());
    size_t end = std::min(text.find(' ', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    if (word.empty()) { break; }
    size_t wide = columns_of(word);
    if (column > 0 && column + 1 + wide > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += wide;
  }
  return out + "\n";
}

auto list_row(std::string_view head, std::string_view text, size_t at, size_t width) -> std::string {
  std::string out(head);
  size_t room = width > at + 20 ? width - at : 20;
  std::string lines = wrapped(text, room);
  std::string lead = columns_of(head) + 1 > at ? "\n" + std::string(at, ' ') : std::string(at - columns_of(head), ' ');
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = lines.find('\n', begin) + 1;
    out += (begin == 0 ? lead : std::string(at, ' ')) + lines.substr(begin, end - begin);
    begin = end;
  }
  return out;
}

}  // namespace loopsmith::repl
