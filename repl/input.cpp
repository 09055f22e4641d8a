// Divides lines of text into inputs: see input.h.
#include "repl/input.h"

#include <algorithm>

#include "support/text_diff.h"

namespace loopsmith::repl {
namespace {

auto is_blank(std::string_view line) -> bool { return line.find_first_not_of(" \t\r") == std::string_view::npos; }
auto is_indented(std::string_view line) -> bool { return line.starts_with(' ') || line.starts_with('\t'); }

auto trimmed(std::string_view text) -> std::string_view {
  size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

struct Shape {
  bool is_open = false;      // in brackets, in a string of several lines, or behind a backslash
  bool has_block = false;    // a line outside brackets ends with a colon
};

auto shape_of(std::string_view text) -> Shape {
  Shape shape;
  int depth = 0;
  char last = 0;             // of the line so far, without comments
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
      continue;
    }
    if (c == '"' || c == '\'') {
      std::string_view quotes = text.substr(i, 3);
      bool is_long = quotes == std::string(3, c);
      size_t width = is_long ? 3 : 1;
      size_t end = i + width;
      // A short string ends with its line; the parser reports a missing quote.
      while (end < text.size() && text.substr(end, width) != quotes.substr(0, width) && (is_long || text[end] != '\n')) { end += text[end] == '\\' ? 2 : 1; }
      if (is_long && end >= text.size()) { return {.is_open = true, .has_block = shape.has_block}; }
      i = std::min(end + (is_long || (end < text.size() && text[end] != '\n') ? width : 0), text.size()) - 1;
      last = c;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') { ++depth; }
    if (c == ')' || c == ']' || c == '}') { --depth; }
    if (c == '\n') {
      shape.has_block = shape.has_block || (depth <= 0 && last == ':');
      last = 0;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      last = c;
    }
  }
  shape.has_block = shape.has_block || (depth <= 0 && last == ':');
  shape.is_open = depth > 0 || last == '\\';
  return shape;
}

}  // namespace

auto is_complete_input(std::string_view input) -> bool {
  std::string_view text = trimmed(input);
  if (text.empty() || text.front() == ':' || text.front() == '?' || text.front() == ';' || text.front() == ']') { return true; }
  Shape shape = shape_of(text);
  if (shape.is_open) { return false; }
  // A decorator waits for its function.
  bool is_block = shape.has_block || text.front() == '@';
  return !is_block || input.ends_with("\n\n");
}

auto ends_block(std::string_view input, std::string_view line) -> bool {
  if (is_blank(line) || is_indented(line) || line.starts_with('#')) { return false; }
  for (std::string_view goes_on : {"else", "elif", "except", "finally"}) {
    if (line.starts_with(goes_on) && (line.size() == goes_on.size() || std::string_view(" :").find(line[goes_on.size()]) != std::string_view::npos)) { return false; }
  }
  Shape shape = shape_of(trimmed(input));
  if (shape.is_open || !shape.has_block) { return false; }
  // The block already has a body.
  size_t end = input.find_last_not_of(" \t\r\n") + 1;
  size_t begin = input.rfind('\n', end - 1) + 1;
  return is_indented(input.substr(begin));
}

auto split_inputs(std::string_view text) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::vector<std::string_view> lines = lines_of(text);
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) { line.remove_suffix(1); }
  }
  auto goes_on_behind = [&](size_t at) {
    for (size_t i = at + 1; i < lines.size(); ++i) {
      if (!is_blank(lines[i]) && !lines[i].starts_with('#')) { return is_indented(lines[i]); }
    }
    return false;
  };
  std::string input;
  auto done = [&] { out.push_back(std::exchange(input, {})); };
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (input.empty()) {
      if (is_blank(line)) { continue; }
      input = line;
    } else if (ends_block(input, line)) {
      done();
      input = line;
    } else if (is_blank(line)) {
      if (!shape_of(trimmed(input)).is_open && !goes_on_behind(i)) { done(); } else { input += "\n"; }
      continue;
    } else {
      input += "\n" + std::string(line);
    }
    if (is_complete_input(input)) { done(); }
  }
  if (!input.empty()) { done(); }
  return out;
}

}  // namespace loopsmith::repl
