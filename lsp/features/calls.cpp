// One pass over strings, comments and brackets: see calls.h.
#include "lsp/features/calls.h"

#include <algorithm>

#include "support/text.h"

namespace loopsmith::lsp {
namespace {

auto trim(std::string_view text) -> std::string_view {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\r' || text.front() == '\t')) { text.remove_prefix(1); }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t')) { text.remove_suffix(1); }
  return text;
}

/// The dotted name that ends at `end`.
auto dotted_before(std::string_view text, size_t end) -> std::string_view {
  size_t begin = dotted_name_begin(text, end);
  return text.substr(begin, end - begin);
}

struct Bracket {
  char kind = 0;
  size_t open = 0;
  size_t argument_begin = 0;
  std::vector<std::string> before;
};

/// True when the quote at a byte belongs to a triple quote.
auto is_long_string(std::string_view text, size_t quote) -> bool { return text.substr(quote, 3) == std::string(3, text[quote]); }

/// The first byte inside of a string whose quote is at a byte.
auto contents_begin(std::string_view text, size_t quote) -> size_t { return quote + (is_long_string(text, quote) ? 3 : 1); }

/// The first byte behind a string, at most `end`; none: the string is open at `end`. An unclosed string of one line ends with the line.
auto behind_string(std::string_view text, size_t quote, size_t end) -> std::optional<size_t> {
  bool is_long = is_long_string(text, quote);
  for (size_t k = contents_begin(text, quote); k < end; ++k) {
    if (text[k] == '\\') {
      ++k;
      continue;
    }
    bool closes = is_long ? text.substr(k, 3) == std::string(3, text[quote]) : text[k] == text[quote] || text[k] == '\n';
    if (closes) { return std::min(end, k + (is_long ? 3 : 1)); }
  }
  return std::nullopt;
}

/// True when a line begins a statement. Words that also occur inside brackets do not count.
auto begins_statement(std::string_view line) -> bool {
  for (std::string_view word : {"def ", "with ", "while ", "return ", "import ", "class ", "@"}) {
    if (line.starts_with(word)) { return true; }
  }
  return false;
}

/// The innermost call among the open brackets; the cursor is at `end`.
auto innermost_call(std::string_view text, size_t end, const CursorText& cursor, std::vector<Bracket>& stack) -> std::optional<CallContext> {
  bool in_list = false;
  bool in_tuple = false;
  size_t list_item = 0;
  std::vector<std::string> list_items;
  // A string is a key of a dictionary if only blanks are between the last comma or bracket and its quote.
  bool in_dictionary = cursor.in_string && !stack.empty() && stack.back().kind == '{' && cursor.prefix_begin > stack.back().argument_begin &&
                       trim(text.substr(stack.back().argument_begin, cursor.prefix_begin - 1 - stack.back().argument_begin)).empty();
  for (auto bracket = stack.rbegin(); bracket != stack.rend(); ++bracket) {
    std::string_view callee = dotted_before(text, bracket->open);
    if (bracket->kind == '(' && !callee.empty()) {
      CallContext call;
      call.callee = callee;
      call.open = static_cast<uint32_t>(bracket->open);
      call.argument = bracket->before.size();
      call.arguments = std::move(bracket->before);
      call.in_list = in_list;
      call.list_item = list_item;
      call.list_items = std::move(list_items);
      call.in_tuple = in_tuple;
      call.in_dictionary = in_dictionary;
      std::string_view current = trim(text.substr(bracket->argument_begin, end - bracket->argument_begin));
      size_t equals = current.find('=');
      if (equals != std::string_view::npos && equals > 0 && current.substr(equals, 2) != "==") {
        std::string_view name = trim(current.substr(0, equals));
        if (std::all_of(name.begin(), name.end(), is_name_part)) { call.keyword = name; }
      }
      return call;
    }
    in_tuple = in_tuple || bracket->kind == '(';
    if (bracket->kind == '[' && !in_list && callee.empty()) {
      in_list = true;
      list_item = bracket->before.size();
      list_items = bracket->before;
    }
  }
  return std::nullopt;
}

}  // namespace

auto cursor_text(std::string_view text, uint32_t at) -> CursorText {
  CursorText result;
  size_t end = std::min<size_t>(at, text.size());
  std::vector<Bracket> stack;
  size_t i = 0;
  while (i < end) {
    char c = text[i];
    if (c == '#') {
      size_t line = text.find('\n', i);
      if (line == std::string_view::npos || line >= end) {
        result.in_comment = true;
        return result;
      }
      i = line;
    } else if (c == '"' || c == '\'') {
      auto behind = behind_string(text, i, end);
      if (!behind) {
        result.in_string = true;
        result.prefix_begin = static_cast<uint32_t>(std::min(contents_begin(text, i), end));
        result.prefix = text.substr(result.prefix_begin, end - result.prefix_begin);
        break;
      }
      i = *behind;
      continue;
    } else if (c == '(' || c == '[' || c == '{') {
      stack.push_back({c, i, i + 1, {}});
    } else if (c == ')' || c == ']' || c == '}') {
      if (!stack.empty()) { stack.pop_back(); }
    } else if (c == ',' && !stack.empty()) {
      stack.back().before.emplace_back(trim(text.substr(stack.back().argument_begin, i - stack.back().argument_begin)));
      stack.back().argument_begin = i + 1;
    } else if (c == '\n' && !stack.empty()) {
      // A line that starts a statement closes brackets that an unfinished statement above left open.
      std::string_view rest = trim(text.substr(i, std::min<size_t>(text.size() - i, 200)));
      if (begins_statement(rest) && text.substr(i + 1, 1) != ")") { stack.clear(); }
    }
    ++i;
  }
  if (!result.in_string) {
    size_t begin = name_begin(text, end);
    result.prefix_begin = static_cast<uint32_t>(begin);
    result.prefix = text.substr(begin, end - begin);
    if (begin > 0 && text[begin - 1] == '.') { result.object = dotted_before(text, begin - 1); }
  }
  result.call = innermost_call(text, end, result, stack);
  return result;
}

}  // namespace loopsmith::lsp
