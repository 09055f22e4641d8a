// Renders diagnostics: see render.h. Text from files may contain any bytes: invalid UTF-8 and control characters are shown as marks, and
// lines that are too long for a terminal are cut around the marked place.
#include "driver/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace loopsmith::driver {
namespace {

constexpr size_t tab_width = 4;
constexpr size_t widest_line = 160;

// One character: its code point and its bytes. Each byte that is not valid UTF-8 is a separate character, U+FFFD.
struct Character { char32_t code; size_t bytes; };
auto character_at(std::string_view text, size_t at) -> Character {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  unsigned first = byte(at);
  if (first < 0x80) { return {first, 1}; }
  size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first >= 0xf5 || at + length > text.size()) { return {0xfffd, 1}; }
  char32_t code = first & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80U) { return {0xfffd, 1}; }
    code = code << 6U | (byte(at + i) & 0x3fU);
  }
  bool is_surrogate = code >= 0xd800 && code < 0xe000;
  bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (is_surrogate || is_overlong || code > 0x10ffff) { return {0xfffd, 1}; }
  return {code, length};
}

struct CodeRange { char32_t first, last; };
template <size_t N>
auto is_in(const CodeRange (&ranges)[N], char32_t code) -> bool {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](const CodeRange& r) { return code >= r.first && code <= r.last; });
}

auto width_of(char32_t code) -> size_t {
  static constexpr CodeRange combining[] = {{0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5bd}, {0x610, 0x61a}, {0x64b, 0x65f}, {0x1ab0, 0x1aff},
                                            {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064}, {0x20d0, 0x20ff},
                                            {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};
  static constexpr CodeRange wide[] = {{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x25fd, 0x25fe}, {0x2614, 0x2615},
                                       {0x2648, 0x2653}, {0x26a1, 0x26a1}, {0x2705, 0x2705}, {0x274c, 0x274c}, {0x2753, 0x2755}, {0x2795, 0x2797},
                                       {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xa000, 0xa4cf}, {0xa960, 0xa97f},
                                       {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
                                       {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}};
  if (code < 0x300) { return 1; }
  if (is_in(combining, code)) { return 0; }
  return is_in(wide, code) ? 2 : 1;
}

void append_utf8(std::string& out, char32_t code) {
  auto put = [&](unsigned value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0U | code >> 6U);
    put(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    put(0xe0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3fU));
    put(0x80U | (code & 0x3fU));
  } else {
    put(0xf0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3fU));
    put(0x80U | (code >> 6U & 0x3fU));
    put(0x80U | (code & 0x3fU));
  }
}

// A line as cells of the terminal, each with the place of its character in the source.
struct Cell { std::string text; size_t width; size_t source; };
auto cells_of(std::string_view line) -> std::vector<Cell> {
  std::vector<Cell> out;
  size_t column = 0;
  for (size_t at = 0; at < line.size();) {
    Character c = character_at(line, at);
    Cell cell{{}, 1, at};
    if (c.code == '\t') {
      cell.width = tab_width - column % tab_width;
      cell.text.assign(cell.width, ' ');
    } else if (c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0)) {
      append_utf8(cell.text, c.code < 0x20 ? 0x2400 + c.code : 0xfffd);   // "symbol for ..."
    } else {
      append_utf8(cell.text, c.code);
      cell.width = width_of(c.code);
    }
    column += cell.width;
    at += c.bytes;
    out.push_back(std::move(cell));
  }
  return out;
}

struct Excerpt { std::string line, marks; };

// The line with the bytes [begin, end) of it marked.
auto excerpt(std::string_view line, size_t begin, size_t end) -> Excerpt {
  std::vector<Cell> cells = cells_of(line);
  end = std::max(end, begin + 1);
  size_t first = 0;
  while (first < cells.size() && cells[first].source < begin) { ++first; }
  size_t last = first;
  while (last < cells.size() && cells[last].source < end) { ++last; }
  size_t from = 0;
  size_t to = cells.size();
  if (to > widest_line) {
    size_t shown = std::min(last, first + widest_line / 2);
    from = first > widest_line / 2 ? first - widest_line / 2 : 0;
    to = std::min(cells.size(), std::max(from + widest_line, shown));
  }
  Excerpt out;
  if (from > 0) {
    out.line = "...";
    out.marks = "   ";
  }
  for (size_t i = from; i < to; ++i) {
    out.line += cells[i].text;
    if (i < last) { out.marks.append(cells[i].width, i < first ? ' ' : '^'); }
  }
  if (to < cells.size()) { out.line += "..."; }
  if (first >= cells.size()) { out.marks += '^'; }   // at the end of the line
  return out;
}

auto severity_word(Severity severity) -> const char* {
  switch (severity) {
    case Severity::Error: return "error";
    case Severity::Warning: return "warning";
    case Severity::Information: return "information";
    case Severity::Hint: return "hint";
  }
  return "error";
}
auto severity_color(Severity severity) -> const char* {
  switch (severity) {
    case Severity::Error: return "\x1b[1;31m";
    case Severity::Warning: return "\x1b[1;35m";
    case Severity::Information: return "\x1b[1;36m";
    case Severity::Hint: return "\x1b[1;36m";
  }
  return "";
}

// Messages quote source text. Control characters, which would control a terminal, become visible marks.
auto clean(std::string_view message) -> std::string {
  std::string out;
  for (size_t at = 0; at < message.size();) {
    Character c = character_at(message, at);
    if (c.code != '\n' && (c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0))) {
      append_utf8(out, c.code < 0x20 ? 0x2400 + c.code : 0xfffd);
    } else {
      append_utf8(out, c.code);
    }
    at += c.bytes;
  }
  return out;
}

class Renderer {
 public:
  Renderer(const Locate& locate, const RenderOptions& options) : locate_(locate), options_(options) {}

  void head(const Origin& where, const char* word, const char* color, const std::string& message, std::string_view code) {
    std::optional<Located> place = locate(where);
    paint("\x1b[1m");
    if (place) {
      HumanPosition at = human_position(*place->text, place->span.begin);
      out_ += fmt::format("{}:{}:{}: ", clean(place->text->name()), at.line, at.column);
    } else if (!options_.file.empty()) {
      out_ += clean(options_.file) + ": ";
    }
    paint(color);
    out_ += word;
    out_ += ": ";
    paint("\x1b[0m\x1b[1m");
    out_ += clean(message);
    paint("\x1b[0m");
    if (!code.empty()) { out_ += fmt::format(" [{}]", code); }
    out_ += '\n';
    if (place) { source(*place, color); }
  }

  void help(const std::string& text) {
    paint("\x1b[1;32m");
    out_ += "help: ";
    paint("\x1b[0m");
    out_ += clean(text);
    out_ += '\n';
  }

  auto take() -> std::string { return std::move(out_); }

 private:
  auto locate(const Origin& where) -> std::optional<Located> {
    if (!where.is_known() || !locate_) { return {}; }
    return locate_(where);
  }
  void paint(const char* code) {
    if (options_.color) { out_ += code; }
  }
  void source(const Located& place, const char* color) {
    const SourceText& text = *place.text;
    SourceText::LineColumn begin = text.line_column(place.span.begin);
    SourceText::LineColumn end = text.line_column(place.span.end);
    std::string_view line = text.line_text(begin.line);
    size_t stop = end.line == begin.line ? end.column : line.size();
    Excerpt shown = excerpt(line, begin.column, stop);
    std::string number = std::to_string(begin.line + 1);
    paint("\x1b[2m");
    out_ += fmt::format("{:>5} | ", number);
    paint("\x1b[0m");
    out_ += shown.line;
    out_ += '\n';
    paint("\x1b[2m");
    out_ += fmt::format("{:>{}} | ", "", std::max<size_t>(5, number.size()));
    paint("\x1b[0m");
    paint(color);
    out_ += shown.marks;
    paint("\x1b[0m");
    out_ += '\n';
  }

  const Locate& locate_;
  const RenderOptions& options_;
  std::string out_;
};

void put_place(nlohmann::json& out, const std::optional<Located>& place, const std::string& file) {
  if (!place) {
    out["file"] = file;
    return;
  }
  HumanPosition begin = human_position(*place->text, place->span.begin);
  HumanPosition end = human_position(*place->text, place->span.end);
  out["file"] = place->text->name();
  out["line"] = begin.line;
  out["column"] = begin.column;
  out["end_line"] = end.line;
  out["end_column"] = end.column;
}

}  // namespace

auto display_width(std::string_view utf8) -> size_t {
  size_t width = 0;
  for (size_t at = 0; at < utf8.size();) {
    Character c = character_at(utf8, at);
    width += width_of(c.code);
    at += c.bytes;
  }
  return width;
}

auto human_position(const SourceText& text, uint32_t offset) -> HumanPosition {
  SourceText::LineColumn at = text.line_column(offset);
  std::string_view line = text.line_text(at.line);
  uint32_t column = 1;
  for (size_t i = 0; i < line.size() && i < at.column; ++column) { i += character_at(line, i).bytes; }
  return {at.line + 1, column};
}

auto render(const Diagnostic& diagnostic, const Locate& locate, const RenderOptions& options) -> std::string {
  Renderer out(locate, options);
  out.head(diagnostic.where, severity_word(diagnostic.severity), severity_color(diagnostic.severity), diagnostic.message(), code_id(diagnostic.code));
  for (const RelatedNote& note : diagnostic.notes) { out.head(note.where, "note", "\x1b[1;36m", note.message, {}); }
  for (const std::string& remedy : diagnostic.remedies) { out.help(remedy); }
  return out.take();
}

auto render_json(const Diagnostic& diagnostic, const Locate& locate, const std::string& file) -> nlohmann::json {
  auto place = [&](const Origin& where) -> std::optional<Located> {
    if (!where.is_known() || !locate) { return {}; }
    return locate(where);
  };
  nlohmann::json out;
  put_place(out, place(diagnostic.where), file);
  out["severity"] = severity_word(diagnostic.severity);
  out["code"] = code_id(diagnostic.code);
  out["message"] = diagnostic.message();
  if (!diagnostic.notes.empty()) {
    for (const RelatedNote& note : diagnostic.notes) {
      nlohmann::json item;
      put_place(item, place(note.where), file);
      item["message"] = note.message;
      out["notes"].push_back(std::move(item));
    }
  }
  if (!diagnostic.remedies.empty()) { out["help"] = diagnostic.remedies; }
  if (!diagnostic.fixes.empty()) {
    for (const FixEdit& fix : diagnostic.fixes) {
      nlohmann::json item;
      put_place(item, place(fix.where), file);
      item["replacement"] = fix.replacement;
      out["fixes"].push_back(std::move(item));
    }
  }
  return out;
}

}  // namespace loopsmith::driver
