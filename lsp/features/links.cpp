// Comments, line by line: see links.h.
#include "lsp/features/links.h"

#include <algorithm>

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto is_code_byte(char c) -> bool { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

auto lower(char c) -> char { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

auto mentioned_codes(const Snapshot& snapshot) -> std::vector<CodeMention> {
  std::vector<CodeMention> found;
  const std::string& text = snapshot.text();
  for (size_t at = text.find("ls: ignore"); at != std::string::npos; at = text.find("ls: ignore", at + 1)) {
    size_t open = text.find_first_of("[\n", at);
    if (open == std::string::npos || text[open] != '[' || text.rfind('#', at) == std::string::npos) { continue; }
    size_t close = text.find_first_of("]\n", open);
    if (close == std::string::npos || text[close] != ']') { continue; }
    for (size_t i = open + 1; i < close;) {
      if (!is_code_byte(text[i])) {
        ++i;
        continue;
      }
      size_t end = i;
      while (end < close && is_code_byte(text[end])) { ++end; }
      found.push_back({{static_cast<uint32_t>(i), static_cast<uint32_t>(end)}, text.substr(i, end - i)});
      i = end;
    }
  }
  return found;
}

auto comment_folds(const Snapshot& snapshot) -> std::vector<CommentFold> {
  constexpr uint32_t least = 3;
  std::vector<CommentFold> folds;
  std::vector<uint32_t> regions;   // where those begin that are open
  uint32_t begin = 0;
  uint32_t count = 0;              // lines of comments up to here
  uint32_t last_end = 0;
  std::string_view text = snapshot.text();
  uint32_t offset = 0;
  while (offset <= text.size()) {
    auto end = static_cast<uint32_t>(std::min(text.find('\n', offset), text.size()));
    std::string_view line = text.substr(offset, end - offset);
    size_t first = line.find_first_not_of(" \t");
    std::string_view comment = first != std::string_view::npos && line[first] == '#' ? line.substr(first + 1) : std::string_view();
    while (comment.starts_with(' ')) { comment.remove_prefix(1); }
    bool is_comment = first != std::string_view::npos && line[first] == '#';
    bool opens = comment == "region" || comment.starts_with("region ");
    bool closes = comment.starts_with("endregion");
    if (is_comment && !opens && !closes) {
      if (count++ == 0) { begin = offset; }
      last_end = end;
    } else {
      if (count >= least) { folds.push_back({{begin, last_end}, false}); }
      count = 0;
    }
    if (opens) { regions.push_back(offset); }
    if (closes && !regions.empty()) {
      folds.push_back({{regions.back(), end}, true});
      regions.pop_back();
    }
    offset = end + 1;
  }
  if (count >= least) { folds.push_back({{begin, last_end}, false}); }
  std::sort(folds.begin(), folds.end(), [](const CommentFold& a, const CommentFold& b) { return a.span.begin < b.span.begin; });
  return folds;
}

auto matches_query(std::string_view name, std::string_view query) -> bool {
  size_t at = 0;
  for (char c : name) {
    if (at < query.size() && lower(c) == lower(query[at])) { ++at; }
  }
  return at == query.size();
}

}  // namespace loopsmith::lsp
