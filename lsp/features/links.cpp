// Comments, line by line: see links.h.
#include "lsp/features/links.h"

#include <algorithm>

#include "lsp/features/steps.h"
#include "schedule/primitive.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto is_code_byte(char c) -> bool { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

auto is_code(std::string_view text) -> bool {
  static constexpr std::string_view all[] = {
#define DIAGNOSTIC(code, id, severity, text) id,
#include "support/diagnostics.def"
#undef DIAGNOSTIC
  };
  return std::find(std::begin(all), std::end(all), text) != std::end(all);
}

/// The start of the comment in a line; the end of the line if it has no comment.
auto comment_in(const std::string& text, size_t begin, size_t end) -> size_t {
  char quote = 0;
  for (size_t i = begin; i < end; ++i) {
    char c = text[i];
    if (quote != 0) {
      if (c == '\\') { ++i; } else if (c == quote) { quote = 0; }
    } else if (c == '#') {
      return i;
    } else if (c == '"' || c == '\'') {
      quote = c;
    }
  }
  return end;
}

auto lower(char c) -> char { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

auto mentions(const Snapshot& snapshot) -> std::vector<Mention> {
  std::vector<Mention> found;
  const std::string& text = snapshot.text();
  auto add = [&](size_t begin, size_t end, Mention::Of of, std::string name) { found.push_back({{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, of, std::move(name)}); };
  auto add_codes = [&](size_t open, size_t close, bool must_be_known) {
    for (size_t i = open + 1; i < close;) {
      size_t end = i;
      while (end < close && is_code_byte(text[end])) { ++end; }
      std::string code = text.substr(i, end - i);
      if (end > i && (!must_be_known || is_code(code))) { add(i, end, Mention::Of::Code, std::move(code)); }
      i = end + 1;
    }
  };
  for (size_t line = 0; line < text.size(); line = std::min(text.find('\n', line), text.size() - 1) + 1) {
    size_t end = std::min(text.find('\n', line), text.size());
    size_t comment = comment_in(text, line, end);
    if (comment == end) { continue; }
    for (std::string_view word : {"ls: ignore[", "ls: ignore-file[", "error[", "warning[", "information[", "hint["}) {
      size_t at = text.find(word, comment);
      size_t close = at < end ? text.find_first_of("]\n", at + word.size()) : std::string::npos;
      if (close < end && text[close] == ']') { add_codes(at + word.size() - 1, close, !word.starts_with("ls")); }
    }
    for (size_t open = text.find('`', comment); open < end;) {
      size_t close = text.find('`', open + 1);
      if (close >= end) { break; }
      size_t begin = text.compare(open + 1, 4, "sch.") == 0 ? open + 5 : open + 1;
      std::string name = text.substr(begin, close - begin);
      if (schedule::find_primitive(name) != nullptr) { add(begin, close, Mention::Of::Primitive, std::move(name)); }
      open = text.find('`', close + 1);
    }
    constexpr std::string_view tuned = "# Tuned: ";
    if (text.compare(comment, tuned.size(), tuned) == 0) {
      const script::FileSchedule* schedule = schedule_at(snapshot, static_cast<uint32_t>(comment));
      if (schedule != nullptr && !schedule->program_name.empty()) { add(comment + 2, comment + tuned.size() - 2, Mention::Of::Records, schedule->program_name.str()); }
    }
  }
  std::sort(found.begin(), found.end(), [](const Mention& a, const Mention& b) { return a.span.begin < b.span.begin; });
  return found;
}

auto comment_folds(const Snapshot& snapshot) -> std::vector<CommentFold> {
  constexpr uint32_t least = 3;
  std::vector<CommentFold> folds;
  std::vector<uint32_t> regions;   // the first lines of the open regions
  uint32_t begin = 0;
  uint32_t count = 0;              // the number of consecutive comment lines up to here
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
