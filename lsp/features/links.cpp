// Codes, primitives and records in comments: see links.h.
#include "lsp/features/links.h"

#include <algorithm>

#include "lsp/features/steps.h"
#include "schedule/primitive.h"
#include "workspace/edits/certificate.h"

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
    static const std::string tuned = "# " + std::string(workspace::tuned_comment);
    if (text.compare(comment, tuned.size(), tuned) == 0) {
      const script::FileSchedule* schedule = schedule_at(snapshot, static_cast<uint32_t>(comment));
      if (schedule != nullptr && !schedule->program_name.empty()) { add(comment + 2, comment + tuned.size() - 2, Mention::Of::Records, schedule->program_name.str()); }
    }
  }
  std::sort(found.begin(), found.end(), [](const Mention& a, const Mention& b) { return a.span.begin < b.span.begin; });
  return found;
}

}  // namespace loopsmith::lsp
