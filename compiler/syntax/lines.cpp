// The scan of logical lines, and the tokens of a line. split.cpp cuts a text into declarations.
#include "syntax/lines.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "support/text.h"
#include "syntax/ast.h"

namespace loopsmith::syntax {
namespace {

// Letters, digits and "_" of ASCII, the most frequent characters.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0; c < 128; ++c) {
    plain[static_cast<size_t>(c)] = is_name_part(static_cast<char>(c));
  }
  return plain;
}();
// Operators that never end a line or a number. "." may belong to a number.
constexpr auto kOperator = [] {
  std::array<bool, 256> found{};
  for (char c : std::string_view("+-*/%@&|^~<>=,:;")) { found[static_cast<unsigned char>(c)] = true; }
  return found;
}();
auto is_plain(char c) -> bool { return kPlain[static_cast<unsigned char>(c)]; }

template <size_t N>
auto is_one_of(std::string_view word, const std::array<std::string_view, N>& words) -> bool {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Words that cannot occur inside of brackets: a line that begins with one begins a statement.
constexpr std::array<std::string_view, 16> kStatementWords = {
    "def", "class", "return", "while", "with", "assert", "import", "pass",
    "break", "raise", "try", "global", "nonlocal", "del", "continue", "except"};

constexpr int kFieldBudget = 20000;

// A line that begins with one of these cannot end with a comma.
constexpr std::array<std::string_view, 17> kNoLastComma = {
    "import", "from", "global", "nonlocal", "for", "with", "assert", "if", "elif", "while",
    "raise", "except", "class", "def", "async", "else", "try"};
// Words after which a line continues.
constexpr std::array<std::string_view, 22> kHangingWords = {
    "and", "or", "not", "in", "is", "if", "elif", "lambda", "import", "from", "as",
    "assert", "del", "def", "class", "for", "while", "with", "global", "nonlocal", "await", "async"};

// Length of the UTF-8 sequence at `at`; 0 when it is not valid.
auto utf8_length(std::string_view text, size_t at) -> size_t {
  auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0; };
  unsigned char lead = byte(0);
  auto follows = [&](size_t count) {
    for (size_t i = 1; i <= count; ++i) {
      if ((byte(i) & 0xc0) != 0x80) { return false; }
    }
    return true;
  };
  if (lead < 0x80) { return 1; }
  if (lead >= 0xc2 && lead <= 0xdf) { return follows(1) ? 2 : 0; }
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!follows(2) || (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f)) { return 0; }
    return 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!follows(3) || (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f)) { return 0; }
    return 4;
  }
  return 0;
}

// The length of a character that occurs in no token. Letters beyond ASCII are accepted as parts of names; the parser checks them.
auto is_bad_character(std::string_view text, size_t at) -> size_t {
  auto c = static_cast<unsigned char>(text[at]);
  if (c >= 0x80) { return utf8_length(text, at) == 0 ? 1 : 0; }
  if (c == '$' || c == '?' || c == '`' || c == 0x7f) { return 1; }
  return c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' ? 1 : 0;
}

class LineScanner {
 public:
  LineScanner(std::string_view text, uint32_t base_indent, Lines& out) : text_(text), base_indent_(base_indent), out_(out) {}

  // False when a string in triple quotes extends to the end of the text and `strings_stop` is not set.
  auto run(bool strings_stop) -> bool {
    strings_stop_ = strings_stop;
    return run_from(0, base_indent_, [](size_t, uint32_t) { return false; });
  }

  // Scans from the beginning of a line until `is_known` is true at the beginning of another line.
  template <class F>
  auto run_from(size_t at, uint32_t indent, F&& is_known) -> bool {
    while (at < text_.size()) {
      char c = text_[at];
      if (c == ' ') { ++indent; ++at; }
      else if (c == '\t') { indent += 8 - indent % 8; ++at; }
      else if (c == '\n' || c == '\r' || c == '\f') { indent = 0; ++at; }
      else if (c == '\\' && at + 1 < text_.size() && (text_[at + 1] == '\n' || text_[at + 1] == '\r')) { at += 2; }
      else if (c == '#') { at = comment(at, indent, true); }
      // A byte-order mark at the beginning of any line, so that a piece of a text is read in the same way as within the whole text.
      else if (indent == 0 && text_.substr(at).starts_with("\xEF\xBB\xBF")) { at += 3; }
      else {
        if (is_known(at, indent)) { return true; }
        size_t comments = out_.comments.size();
        LogicalLine line;
        size_t end = scan_line(at, indent, false, line);
        if (gave_up_) {
          out_.comments.resize(comments);
          if (!strings_stop_ && unclosed_triple_) { return false; }
          line = {};
          end = scan_line(at, indent, true, line);
        }
        out_.lines.push_back(line);
        at = std::max(end, at + 1);
        indent = 0;
        // No code follows on the same physical line: a logical line ends at the end of a physical line.
      }
    }
    return true;
  }

 private:
  [[nodiscard]] auto at_or_zero(size_t at) const -> char { return at < text_.size() ? text_[at] : '\0'; }

  auto comment(size_t at, uint32_t indent, bool own_line) -> size_t {
    size_t end = std::min(text_.find_first_of("\n\r", at), text_.size());
    out_.comments.push_back({{static_cast<uint32_t>(at), static_cast<uint32_t>(end)}, indent, own_line});
    return end;
  }

  void fault(LogicalLine& line, LineFault kind, size_t begin, size_t end) {
    if (line.fault != LineFault::None) { return; }
    line.fault = kind;
    line.fault_at = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }

  // True when a statement begins at `at`, the first code of a physical line: the text could not be inside brackets in valid code.
  [[nodiscard]] auto begins_statement(size_t at, uint32_t indent) const -> bool {
    char c = text_[at];
    if (c == '@') { return indent == 0 && is_name_start(at_or_zero(at + 1)); }
    if (c < 'a' || c > 'z') { return false; }
    std::string_view word = first_word(text_.substr(at, 16));
    size_t next = at + word.size();
    while (at_or_zero(next) == ' ') { ++next; }
    char after = at_or_zero(next);
    if (is_one_of(word, kStatementWords)) { return after != '=' && after != ',' && after != '.'; }
    if (indent == 0 && word == "from") { return is_name_start(after) && line_has(at, " import "); }
    return false;
  }

  [[nodiscard]] auto line_has(size_t at, std::string_view what) const -> bool {
    size_t end = std::min(text_.find('\n', at), text_.size());
    return text_.substr(at, end - at).find(what) != std::string_view::npos;
  }

  // The end of a string that began at `at` (after its prefix); sets `unclosed` when it has no end. A replacement
  // field of an f-string may contain strings again.
  auto scan_string(size_t at, bool is_format, bool is_lenient, bool& unclosed, int depth) -> size_t {
    char quote = text_[at];
    bool is_triple = at_or_zero(at + 1) == quote && at_or_zero(at + 2) == quote;
    size_t i = at + (is_triple ? 3 : 1);
    while (i < text_.size()) {
      char c = text_[i];
      if (c == '\\') {
        i += at_or_zero(i + 1) == '\r' && at_or_zero(i + 2) == '\n' ? 3 : 2;
        continue;
      }
      if (c == quote) {
        if (!is_triple) { return i + 1; }
        if (at_or_zero(i + 1) == quote && at_or_zero(i + 2) == quote) { return i + 3; }
      }
      if (c == '\n' || c == '\r') {
        if (!is_triple || is_lenient) { unclosed = true; return i; }
        if (strings_stop_ && is_declaration_line(i + 1)) { unclosed = true; return i; }
      }
      if (is_format && c == '{' && depth < 8) {
        if (at_or_zero(i + 1) == '{') { i += 2; continue; }
        size_t end = scan_field(i + 1, quote, is_triple, is_lenient, depth);
        if (end != 0) { i = end; continue; }
      }
      ++i;
    }
    unclosed = true;
    if (is_triple && !is_lenient) { unclosed_triple_ = true; }
    return std::min(i, text_.size());
  }

  // The position behind the "}" of a replacement field whose code begins at `at`; 0 when it does not look like a field.
  auto scan_field(size_t at, char quote, bool is_triple, bool is_lenient, int depth) -> size_t {
    int open = 0;
    for (size_t i = at; i < text_.size() && field_budget_ > 0;) {
      --field_budget_;
      char c = text_[i];
      if (c == '\n' || c == '\r') {
        if (!is_triple || is_lenient) { return 0; }
        ++i;
      } else if (c == '}' && open == 0) { return i + 1; }
      else if (c == '(' || c == '[' || c == '{') { ++open; ++i; }
      else if (c == ')' || c == ']' || c == '}') {
        if (open == 0) { return 0; }
        --open; ++i;
      } else if (c == '"' || c == '\'') {
        if (is_triple && c == quote && at_or_zero(i + 1) == c && at_or_zero(i + 2) == c) { return 0; }
        char before = text_[i - 1];
        bool unclosed = false;
        bool gave_up = unclosed_triple_;
        i = scan_string(i, before == 'f' || before == 'F', true, unclosed, depth + 1);
        unclosed_triple_ = gave_up;
        if (unclosed) { return 0; }
      } else if (c == ':' && open == 0) {
        // A format: text up to "}", with fields in it.
        ++i;
        while (i < text_.size() && field_budget_ > 0) {
          --field_budget_;
          char f = text_[i];
          if (f == '}') { return i + 1; }
          if (f == '\n' || f == '\r' || f == '"' || f == '\'') { return 0; }
          if (f == '{') {
            size_t end = depth < 8 ? scan_field(i + 1, quote, is_triple, is_lenient, depth + 1) : 0;
            if (end == 0) { return 0; }
            i = end;
            continue;
          }
          ++i;
        }
      } else { ++i; }
    }
    return 0;
  }

  [[nodiscard]] auto is_declaration_line(size_t at) const -> bool {
    std::string_view rest = text_.substr(std::min(at, text_.size()), 12);
    return rest.starts_with("def ") || rest.starts_with("class ") || rest.starts_with("async def ") ||
           (rest.size() > 1 && rest[0] == '@' && is_name_start(rest[1]));
  }

  // The place behind a backslash at `i`: the next line, where the backslash ends a line; elsewhere it is a fault.
  auto past_backslash(LogicalLine& line, size_t i, size_t& code_end) -> size_t {
    if (at_or_zero(i + 1) == '\n') { return i + 2; }
    if (at_or_zero(i + 1) == '\r') { return i + (at_or_zero(i + 2) == '\n' ? 3 : 2); }
    if (i + 1 == text_.size()) { return i + 1; }
    fault(line, LineFault::BadCharacter, i, i + 1);
    return code_end = i + 1;
  }

  // The end of the string at `i` in the logical line that begins at `at`.
  struct StringEnd {
    size_t end = 0;
    bool gives_up = false;    // a string in triple quotes without an end: the lines are scanned again, leniently
    bool ends_line = false;   // the same, scanned leniently: the logical line ends with it
  };
  auto line_string(LogicalLine& line, size_t at, size_t i, bool is_lenient) -> StringEnd {
    char c = text_[i];
    bool unclosed = false;
    bool is_format = has_format_prefix(at, i);
    size_t quotes = at_or_zero(i + 1) == c && at_or_zero(i + 2) == c ? 3 : 1;
    size_t end = scan_string(i, is_format, is_lenient && gave_up_triple_at(i), unclosed, 0);
    if (!unclosed) { return {end}; }
    fault(line, LineFault::UnclosedString, i, i + quotes);
    if (unclosed_triple_) {
      gave_up_ = true;
      triple_at_ = i;
      return {.end = end, .gives_up = true};
    }
    if (quotes == 3) { brackets_.clear(); }
    return {.end = end, .ends_line = quotes == 3};
  }

  // Opens the bracket at `i`. False: it is nested too deep, and a strict scan ends.
  auto open(LogicalLine& line, size_t i, bool is_lenient) -> bool {
    brackets_.push_back(i);
    if (brackets_.size() <= kMaxDepth) { return true; }
    fault(line, LineFault::TooDeep, i, i + 1);
    if (is_lenient) { brackets_.pop_back(); } else { gave_up_ = true; }
    return is_lenient;
  }

  // The end of the logical line that begins at `at`. Strict: brackets and strings extend to their ends; `gave_up_` is
  // set when one is never closed. Lenient: the line ends in front of a line that is not indented more than it is.
  auto scan_line(size_t at, uint32_t indent, bool is_lenient, LogicalLine& line) -> size_t {
    gave_up_ = false;
    unclosed_triple_ = false;
    line.span.begin = static_cast<uint32_t>(at);
    line.indent = indent;
    brackets_.clear();
    field_budget_ = kFieldBudget;
    size_t code_end = at;
    size_t i = at;
    size_t last_begin = at;
    auto finish = [&](size_t end) {
      if (!brackets_.empty()) {
        if (!is_lenient) { gave_up_ = true; }
        fault(line, LineFault::UnclosedBracket, brackets_.back(), brackets_.back() + 1);
      }
      line.span.end = static_cast<uint32_t>(code_end);
      line.ends_with_colon = brackets_.empty() && code_end > at && text_[code_end - 1] == ':' && last_is_operator_;
      if (line.fault == LineFault::None && code_end > at) { check_complete(line, last_begin); }
      return end;
    };
    last_is_operator_ = false;
    while (i < text_.size()) {
      char c = text_[i];
      if (c == ' ' || c == '\t' || c == '\f') { ++i; continue; }
      if (kOperator[static_cast<unsigned char>(c)]) {
        last_is_operator_ = true;
        last_begin = i;
        code_end = ++i;
        continue;
      }
      if (is_plain(c)) {
        last_is_operator_ = false;
        last_begin = i;
        while (i < text_.size() && is_plain(text_[i])) { ++i; }
        if (i < text_.size() && static_cast<unsigned char>(text_[i]) >= 0x80) { i = last_begin; }
        else { code_end = i; continue; }
      }
      if (c == '\\') { i = past_backslash(line, i, code_end); continue; }
      if (c == '#') { i = comment(i, indent, false); continue; }
      if (c == '\n' || c == '\r') {
        size_t next = brackets_.empty() ? i : next_line(i, at, code_end, indent, is_lenient);
        if (next == i) { return finish(i); }
        i = next;
        continue;
      }
      if (c == '.' && code_end == i && i > at && is_digit(text_[last_begin])) {
        // The point belongs to a number.
        last_is_operator_ = false;
        code_end = ++i;
        continue;
      }
      last_is_operator_ = false;
      last_begin = i;
      if (c == '"' || c == '\'') {
        StringEnd string = line_string(line, at, i, is_lenient);
        if (string.gives_up) { return string.end; }
        i = code_end = string.end;
        if (string.ends_line) { return finish(i); }
        continue;
      }
      if (size_t bad = is_bad_character(text_, i); bad != 0) {
        fault(line, LineFault::BadCharacter, i, i + bad);
        code_end = i += bad;
        continue;
      }
      if (is_name_part(c)) {
        code_end = i = past_name(i);
        continue;
      }
      if ((c == '(' || c == '[' || c == '{') && !open(line, i, is_lenient)) { return i; }
      if (c == ')' || c == ']' || c == '}') { close(line, i, c); }
      last_is_operator_ = true;
      code_end = ++i;
    }
    return finish(i);
  }

  // The next line with code of a logical line that continues inside brackets at the end of this one, at `i`. Returns `i` itself if it does not continue:
  // the text ends there, or the next line begins a statement. `at`, `code_end`: the logical line so far.
  auto next_line(size_t i, size_t at, size_t code_end, uint32_t indent, bool is_lenient) -> size_t {
    size_t next = i;
    uint32_t width = 0;
    size_t comments = out_.comments.size();
    while (next < text_.size()) {
      char n = text_[next];
      if (n == '\n' || n == '\r' || n == '\f') { width = 0; ++next; }
      else if (n == ' ') { ++width; ++next; }
      else if (n == '\t') { width += 8 - width % 8; ++next; }
      else if (n == '#' && !(is_lenient && width <= indent)) { next = comment(next, width, true); width = 0; }
      else { break; }
    }
    bool is_end = next >= text_.size();
    if (!is_end) {
      bool is_head_end = is_lenient && ends_head(at, code_end);
      bool is_close = text_[next] == ')' || text_[next] == ']' || text_[next] == '}';
      is_end = is_head_end || begins_statement(next, width) || (is_lenient && width <= indent && !is_close);
    }
    if (!is_end) { return next; }
    // The comments on the way are found again, between the lines.
    out_.comments.resize(comments);
    return i;
  }

  // True for `f"` and `rf"`. `at`: the start of the logical line, `quote`: the start of the string.
  [[nodiscard]] auto has_format_prefix(size_t at, size_t quote) const -> bool {
    for (size_t k = quote; k > at && k + 3 > quote && is_name_part(text_[k - 1]); --k) {
      if (text_[k - 1] == 'f' || text_[k - 1] == 'F') { return true; }
    }
    return false;
  }

  [[nodiscard]] auto past_name(size_t i) const -> size_t {
    for (;;) {
      while (i < text_.size() && is_plain(text_[i])) { ++i; }
      if (i >= text_.size() || !is_name_part(text_[i]) || is_bad_character(text_, i) != 0) { return i; }
      i += utf8_step(i);
    }
  }

  // In a logical line whose bracket is never closed: true when this end of a line ends a head with a block below.
  [[nodiscard]] auto ends_head(size_t at, size_t code_end) const -> bool {
    std::string_view word = first_word(text_.substr(at, 16));
    if (!is_head_word(word)) { return false; }
    return text_[code_end - 1] == ':' || (word != "def" && word != "class" && word != "async");
  }

  // Sets the fault of a line that cannot end with its last token, at `last`.
  void check_complete(LogicalLine& line, size_t last) {
    std::string_view first = first_word(text_.substr(line.span.begin, 16));
    std::string_view code = text_.substr(line.span.begin, line.span.end - line.span.begin);
    bool hangs = false;
    if (last_is_operator_) {
      char c = code.back();
      if (c == ',') {
        hangs = is_one_of(first, kNoLastComma);
      } else if (c == ':') {
        hangs = !is_head_word(first) && first != "match" && first != "case";
      } else {
        hangs = !(code.ends_with("...") || c == ')' || c == ']' || c == '}' || c == ';') && !code.ends_with("import *");
      }
    } else if (is_name_start(text_[last])) {
      std::string_view word = text_.substr(last, line.span.end - last);
      hangs = is_one_of(word, kHangingWords) && (last == line.span.begin || text_[last - 1] != '.');
    }
    if (!hangs && first == "from" && code.find("import") == std::string_view::npos) { hangs = true; }
    if (!hangs) { return; }
    line.fault = LineFault::Incomplete;
    line.fault_at = {static_cast<uint32_t>(last), line.span.end};
  }

  [[nodiscard]] auto utf8_step(size_t at) const -> size_t {
    size_t length = utf8_length(text_, at);
    return length == 0 ? 1 : length;
  }

  [[nodiscard]] auto gave_up_triple_at(size_t at) const -> bool { return at == triple_at_; }

  void close(LogicalLine& line, size_t at, char c) {
    char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (brackets_.empty()) {
      fault(line, LineFault::UnmatchedClose, at, at + 1);
      return;
    }
    if (text_[brackets_.back()] == wanted) {
      brackets_.pop_back();
      return;
    }
    if (line.fault == LineFault::None) {
      fault(line, LineFault::MismatchedClose, at, at + 1);
      line.fault_other = {static_cast<uint32_t>(brackets_.back()), static_cast<uint32_t>(brackets_.back() + 1)};
    }
    // Closes the bracket of the same kind, and all brackets that are open inside it.
    for (size_t k = brackets_.size(); k > 0; --k) {
      if (text_[brackets_[k - 1]] == wanted) {
        brackets_.resize(k - 1);
        return;
      }
    }
  }

  std::string_view text_;
  uint32_t base_indent_;
  Lines& out_;
  std::vector<size_t> brackets_;
  bool strings_stop_ = false;
  bool gave_up_ = false;
  bool unclosed_triple_ = false;
  bool last_is_operator_ = false;
  // The steps left for scanning the f-strings of this line: each wrong guess scans the same bytes again.
  int field_budget_ = 0;
  size_t triple_at_ = static_cast<size_t>(-1);
};

}  // namespace

auto is_head_word(std::string_view word) -> bool {
  static constexpr std::array<std::string_view, 12> words = {"def", "class", "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "async"};
  return is_one_of(word, words);
}

auto first_word(std::string_view text) -> std::string_view {
  size_t end = 0;
  if (text.empty() || !is_name_start(text[0])) { return {}; }
  while (end < text.size() && is_name_part(text[end])) { ++end; }
  return text.substr(0, end);
}

auto scan_lines(std::string_view text, uint32_t base_indent) -> Lines {
  Lines out;
  // A string in triple quotes that extends to the end of the text has lost one of its ends, here or earlier. Scans again
  // and lets declarations in the first column end such strings: this affects only invalid text.
  if (!LineScanner(text, base_indent, out).run(false)) {
    out = {};
    LineScanner(text, base_indent, out).run(true);
    return out;
  }
  out.is_plain = std::all_of(out.lines.begin(), out.lines.end(), [](const LogicalLine& line) { return line.fault == LineFault::None; });
  return out;
}

auto common_ends(std::string_view a, std::string_view b) -> Common {
  constexpr size_t block = 1024;
  size_t limit = std::min(a.size(), b.size());
  Common common;
  while (common.front + block <= limit && std::memcmp(a.data() + common.front, b.data() + common.front, block) == 0) { common.front += block; }
  while (common.front < limit && a[common.front] == b[common.front]) { ++common.front; }
  limit -= common.front;
  auto ends = [&](size_t back, size_t size) { return std::memcmp(a.data() + a.size() - back - size, b.data() + b.size() - back - size, size) == 0; };
  while (common.back + block <= limit && ends(common.back, block)) { common.back += block; }
  while (common.back < limit && ends(common.back, 1)) { ++common.back; }
  return common;
}

auto scan_lines_again(std::string_view text, std::string_view before, const Lines& old) -> Lines {
  if (!old.is_plain || old.lines.empty()) { return scan_lines(text); }
  Common same = common_ends(text, before);
  // Starts with the last line that begins before the difference: the lines above end before it begins.
  auto first = std::lower_bound(old.lines.begin(), old.lines.end(), same.front, [](const LogicalLine& line, size_t at) { return line.span.begin < at; });
  if (first == old.lines.begin()) { return scan_lines(text); }
  --first;
  auto begins_before = [](const CommentSpan& comment, size_t at) { return comment.span.begin < at; };
  Lines out;
  out.lines.reserve(old.lines.size() + 8);
  out.lines.assign(old.lines.begin(), first);
  out.comments.assign(old.comments.begin(), std::lower_bound(old.comments.begin(), old.comments.end(), first->span.begin, begins_before));
  const size_t kept = out.lines.size();
  // Modulo 2^32, like the positions.
  auto shift = static_cast<uint32_t>(text.size()) - static_cast<uint32_t>(before.size());
  size_t met = text.size();
  auto rest = old.lines.end();
  bool is_complete = LineScanner(text, 0, out).run_from(first->span.begin, first->indent, [&](size_t at, uint32_t indent) {
    if (at < text.size() - same.back) { return false; }
    size_t was = at - text.size() + before.size();
    rest = std::lower_bound(old.lines.begin(), old.lines.end(), was, [](const LogicalLine& line, size_t place) { return line.span.begin < place; });
    if (rest == old.lines.end() || rest->span.begin != was || rest->indent != indent) { return false; }
    met = at;
    return true;
  });
  if (!is_complete) { return scan_lines(text); }
  out.is_plain = std::all_of(out.lines.begin() + static_cast<std::ptrdiff_t>(kept), out.lines.end(), [](const LogicalLine& line) { return line.fault == LineFault::None; });
  if (met == text.size()) { return out; }
  auto moved = [&](Span span) { return Span{span.begin + shift, span.end + shift}; };
  for (auto comment = std::lower_bound(old.comments.begin(), old.comments.end(), rest->span.begin, begins_before); comment != old.comments.end(); ++comment) {
    out.comments.push_back({moved(comment->span), comment->indent, comment->own_line});
  }
  for (; rest != old.lines.end(); ++rest) {
    out.lines.push_back(*rest);
    out.lines.back().span = moved(rest->span);
  }
  return out;
}

auto lines_within(const Lines& all, Span part) -> Lines {
  Lines out;
  out.is_plain = true;
  auto place = [&](Span span) { return Span{span.begin - part.begin, span.end - part.begin}; };
  auto line = std::lower_bound(all.lines.begin(), all.lines.end(), part.begin, [](const LogicalLine& l, uint32_t at) { return l.span.begin < at; });
  for (; line != all.lines.end() && line->span.begin < part.end; ++line) {
    out.lines.push_back(*line);
    out.lines.back().span = place(line->span);
  }
  auto comment = std::lower_bound(all.comments.begin(), all.comments.end(), part.begin, [](const CommentSpan& c, uint32_t at) { return c.span.begin < at; });
  for (; comment != all.comments.end() && comment->span.begin < part.end; ++comment) { out.comments.push_back({place(comment->span), comment->indent, comment->own_line}); }
  return out;
}

auto tokenize(std::string_view line) -> std::vector<Token> {
  std::vector<Token> tokens;
  size_t i = 0;
  auto push = [&](TokenKind kind, size_t begin, size_t end) {
    tokens.push_back({kind, {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}});
  };
  while (i < line.size()) {
    char c = line[i];
    size_t begin = i;
    if (c == ' ' || c == '\t' || c == '\f' || c == '\n' || c == '\r' || c == '\\') { ++i; continue; }
    if (c == '#') {
      while (i < line.size() && line[i] != '\n' && line[i] != '\r') { ++i; }
      continue;
    }
    size_t quote = i;
    while (quote < line.size() && quote < i + 3 && is_name_start(line[quote])) { ++quote; }
    if (quote < line.size() && (line[quote] == '"' || line[quote] == '\'')) {
      char q = line[quote];
      bool is_triple = line.substr(quote, 3) == std::string(3, q);
      i = quote + (is_triple ? 3 : 1);
      while (i < line.size()) {
        if (line[i] == '\\') { i += 2; continue; }
        if (is_triple ? line.substr(i, 3) == std::string(3, q) : line[i] == q) { i += is_triple ? 3 : 1; break; }
        if (!is_triple && line[i] == '\n') { break; }
        ++i;
      }
      i = std::min(i, line.size());
      push(TokenKind::String, begin, i);
      continue;
    }
    if (is_digit(c) || (c == '.' && i + 1 < line.size() && is_digit(line[i + 1]))) {
      while (i < line.size() && (is_name_part(line[i]) || line[i] == '.' ||
                                 ((line[i] == '+' || line[i] == '-') && (line[i - 1] == 'e' || line[i - 1] == 'E') &&
                                  line.substr(begin, 2) != "0x"))) { ++i; }
      push(TokenKind::Number, begin, i);
      continue;
    }
    if (is_name_start(c)) {
      while (i < line.size() && is_name_part(line[i])) { ++i; }
      push(TokenKind::Name, begin, i);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') { push(TokenKind::Open, i, i + 1); ++i; continue; }
    if (c == ')' || c == ']' || c == '}') { push(TokenKind::Close, i, i + 1); ++i; continue; }
    static constexpr std::array<std::string_view, 26> operators = {
        "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "==", "!=", "<=", ">=", "->",
        ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "&&", "||"};
    size_t length = 1;
    for (std::string_view op : operators) {
      if (line.substr(i, op.size()) == op) { length = op.size(); break; }
    }
    bool is_operator = std::string_view("+-*/%@&|^~<>=.,:;").find(c) != std::string_view::npos || length > 1;
    push(is_operator && c != '!' ? TokenKind::Operator : length > 1 ? TokenKind::Operator : TokenKind::Bad, i, i + length);
    i += length;
  }
  return tokens;
}

}  // namespace loopsmith::syntax
