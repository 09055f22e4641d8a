// Colours for script text: see highlight.h.
#include "ir/highlight.h"

#include <algorithm>
#include <unordered_map>

#include "support/text.h"

namespace loopsmith {
namespace {

constexpr const char* off = "\x1b[0m";
constexpr const char* keyword = "\x1b[35m";
constexpr const char* number = "\x1b[36m";
constexpr const char* string = "\x1b[32m";
constexpr const char* comment = "\x1b[2m";
constexpr const char* intrinsic = "\x1b[34m";
constexpr const char* decorator = "\x1b[33m";

/// The colour of a kind of loop other than serial, the same as in the drawn loop tree; null: the word is not a kind of loop.
auto loop_kind(std::string_view word) -> const char* {
  static const std::unordered_map<std::string_view, const char*> words = {{"T.parallel", "\x1b[1;35m"}, {"T.vectorized", "\x1b[1;32m"}, {"T.unroll", "\x1b[1;33m"},
                                                                          {"T.thread_binding", "\x1b[1;34m"}, {"T.launch_thread", "\x1b[1;34m"}};
  auto found = words.find(word);
  return found == words.end() ? nullptr : found->second;
}

}  // namespace

auto colored_script(std::string_view text) -> std::string {
  std::string out;
  out.reserve(text.size() * 2);
  auto put = [&](const char* color, std::string_view piece) {
    out += color;
    out += piece;
    out += off;
  };
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    size_t end = i + 1;
    if (c == '#') {
      while (end < text.size() && text[end] != '\n') { ++end; }
      put(comment, text.substr(i, end - i));
    } else if (c == '"' || c == '\'') {
      while (end < text.size() && text[end] != c && text[end] != '\n') { end += text[end] == '\\' ? 2 : 1; }
      end = end < text.size() && text[end] == c ? end + 1 : std::min(end, text.size());
      put(string, text.substr(i, end - i));
    } else if (is_digit(c)) {
      while (end < text.size() && (is_name_part(text[end]) || text[end] == '.')) { ++end; }
      put(number, text.substr(i, end - i));
    } else if (is_name_part(c)) {
      while (end < text.size() && (is_name_part(text[end]) || (text[end] == '.' && end + 1 < text.size() && is_name_part(text[end + 1])))) { ++end; }
      std::string_view word = text.substr(i, end - i);
      if (is_python_keyword(word)) { put(keyword, word); }
      else if (const char* kind = loop_kind(word)) { put(kind, word); }
      else if (word.size() > 2 && word[1] == '.' && (word[0] == 'T' || word[0] == 'I')) { put(intrinsic, word); }
      else { out += word; }
    } else if (c == '@') {
      while (end < text.size() && (is_name_part(text[end]) || text[end] == '.')) { ++end; }
      put(decorator, text.substr(i, end - i));
    } else {
      out += c;
    }
    i = end;
  }
  return out;
}

}  // namespace loopsmith
