// Diffs of printed programs: see script_diff.h.
#include "ir/script_diff.h"

#include <algorithm>
#include <vector>

#include "ir/highlight.h"
#include "support/text_diff.h"

namespace loopsmith {
namespace {

/// A moved nest with fewer lines counts as removed and added: equal single lines occur in many places.
constexpr size_t least_moved = 3;

struct Line {
  char kind = ' ';             // ' ', '-', '+', '>', '<'
  int shift = 0;               // columns
  std::string_view text;       // of the new text; of the old text for a removed line
};

auto indent_of(std::string_view line) -> size_t { return std::min(line.find_first_not_of(' '), line.size()); }
auto stripped(std::string_view line) -> std::string_view { return line.substr(indent_of(line)); }

auto all_lines(std::string_view before, std::string_view after) -> std::vector<Line> {
  std::vector<std::string_view> old_lines = lines_of(before);
  std::vector<std::string_view> new_lines = lines_of(after);
  std::string old_text;
  std::string new_text;
  for (std::string_view line : old_lines) { old_text.append(stripped(line)) += '\n'; }
  for (std::string_view line : new_lines) { new_text.append(stripped(line)) += '\n'; }
  struct Pair { size_t old_line = 0; size_t new_line = 0; };   // from 1; 0: no such line
  std::vector<Pair> pairs;
  for (const DiffLine& line : diff_lines(old_text, new_text)) { pairs.push_back({line.before, line.after}); }
  auto shift_of = [&](const Pair& pair) { return static_cast<int>(indent_of(new_lines[pair.new_line - 1])) - static_cast<int>(indent_of(old_lines[pair.old_line - 1])); };
  std::vector<Line> out;
  std::vector<Line> added;     // removed lines come before the lines that replace them
  auto flush = [&] {
    out.insert(out.end(), added.begin(), added.end());
    added.clear();
  };
  for (size_t i = 0; i < pairs.size();) {
    const Pair& pair = pairs[i];
    if (pair.new_line == 0) {
      out.push_back({'-', 0, old_lines[pair.old_line - 1]});
      ++i;
      continue;
    }
    if (pair.old_line == 0) {
      added.push_back({'+', 0, new_lines[pair.new_line - 1]});
      ++i;
      continue;
    }
    // Adjacent lines that moved by the same step form one run.
    int shift = shift_of(pair);
    size_t end = i + 1;
    while (end < pairs.size() && pairs[end].old_line != 0 && pairs[end].new_line != 0 && shift_of(pairs[end]) == shift) { ++end; }
    if (shift != 0 && end - i < least_moved) {
      for (; i < end; ++i) {
        out.push_back({'-', 0, old_lines[pairs[i].old_line - 1]});
        added.push_back({'+', 0, new_lines[pairs[i].new_line - 1]});
      }
      continue;
    }
    flush();
    for (; i < end; ++i) { out.push_back({shift == 0 ? ' ' : shift > 0 ? '>' : '<', shift, new_lines[pairs[i].new_line - 1]}); }
  }
  flush();
  return out;
}

/// "i, j" of `for i, j in ...:`; empty: the line is not a loop.
auto loops_of(std::string_view line) -> std::string_view {
  line = stripped(line);
  if (!line.starts_with("for ")) { return {}; }
  size_t end = line.find(" in ");
  return end == std::string_view::npos ? std::string_view() : line.substr(4, end - 4);
}
auto block_of(std::string_view line) -> std::string_view {
  line = stripped(line);
  for (std::string_view head : {std::string_view("with T.block(\""), std::string_view("with T.sblock(\"")}) {
    if (line.starts_with(head)) { return line.substr(head.size(), line.find('"', head.size()) - head.size()); }
  }
  return {};
}

/// "for n, h: pad; for rh, w: conv": the loops and blocks in some lines, in at most `most` characters; empty: there are none.
template <class GetText>
auto nests_in(size_t begin, size_t end, GetText&& text, size_t most) -> std::string {
  std::string out;
  std::string loops;
  size_t left_out = 0;
  auto say = [&](const std::string& part) {
    if (left_out > 0 || (!out.empty() && out.size() + part.size() + 2 > most)) { ++left_out; return; }
    out += (out.empty() ? "" : "; ") + part;
  };
  for (size_t i = begin; i < end; ++i) {
    if (std::string_view vars = loops_of(text(i)); !vars.empty()) { loops += (loops.empty() ? "for " : ", ") + std::string(vars); }
    if (std::string_view block = block_of(text(i)); !block.empty()) {
      say(loops.empty() ? std::string(block) : loops + ": " + std::string(block));
      loops.clear();
    }
  }
  if (!loops.empty()) { say(loops); }
  if (left_out > 0) { out += "; " + std::to_string(left_out) + " more"; }
  return out;
}

auto count_text(size_t count) -> std::string { return std::to_string(count) + (count == 1 ? " line" : " lines"); }

}  // namespace

auto diff_scripts(std::string_view before, std::string_view after, const ScriptDiffOptions& options) -> std::string {
  std::vector<Line> lines = all_lines(before, after);
  auto is_change = [&](const Line& line) { return line.kind == '-' || line.kind == '+'; };
  std::vector<bool> shown(lines.size(), options.context == every_line);
  bool any = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    any = any || lines[i].kind != ' ';
    if (!is_change(lines[i]) || options.context == every_line) { continue; }
    shown[i] = true;
    for (size_t k = i + 1; k < std::min(lines.size(), i + options.context + 1); ++k) { shown[k] = true; }
    // The lines above a change show the loops around it; the end of another nest is not shown.
    size_t indent = indent_of(lines[i].text);
    for (size_t k = i; k-- > (i > options.context ? i - options.context : 0) && indent_of(lines[k].text) <= indent;) { shown[k] = true; }
  }
  if (!any) { return {}; }
  // Shows a single line: a note that it is left out would be as long.
  auto is_left_out = [&](size_t i) { return i < lines.size() && !shown[i]; };
  for (size_t i = 0; i < lines.size(); ++i) {
    if (is_left_out(i) && (i == 0 || !is_left_out(i - 1) || lines[i - 1].shift != lines[i].shift) && (!is_left_out(i + 1) || lines[i + 1].shift != lines[i].shift)) { shown[i] = true; }
  }
  std::string out;
  auto color_of = [](char kind) -> std::string_view {
    switch (kind) {
      case '+': return "\x1b[32m";
      case '-': return "\x1b[31m";
      default: return "\x1b[2m";
    }
  };
  for (size_t i = 0; i < lines.size();) {
    char kind = lines[i].kind;
    if (!shown[i]) {
      size_t end = i;
      while (end < lines.size() && !shown[end] && lines[end].shift == lines[i].shift) { ++end; }
      std::string nests = nests_in(i, end, [&](size_t at) { return lines[at].text; }, options.width > 50 ? options.width - 28 : 22);
      std::string how = kind == ' ' ? "unchanged" : kind == '>' ? "deeper" : "less deep";
      std::string summary = std::string(1, kind) + " ... " + (nests.empty() ? count_text(end - i) + (kind == ' ' ? "" : ", " + how) : nests + " (" + count_text(end - i) + ", " + how + ")");
      out += options.color ? "\x1b[2m" + summary + "\x1b[0m\n" : summary + "\n";
      i = end;
      continue;
    }
    bool paint = options.color && kind != ' ';
    if (paint) { out += color_of(kind); }
    out += kind;
    out += ' ';
    out += lines[i++].text;
    if (paint) { out += "\x1b[0m"; }
    out += '\n';
  }
  return out;
}

auto fold_unchanged(std::string_view before, std::string_view after, const ScriptDiffOptions& options) -> std::string {
  std::vector<Line> lines = all_lines(before, after);
  std::erase_if(lines, [](const Line& line) { return line.kind == '-'; });
  std::string out;
  for (size_t i = 0; i < lines.size();) {
    // A loop or block with everything inside.
    size_t indent = indent_of(lines[i].text);
    bool is_nest = !loops_of(lines[i].text).empty() || !block_of(lines[i].text).empty();
    size_t end = i + 1;
    while (is_nest && end < lines.size() && indent_of(lines[end].text) > indent) { ++end; }
    bool is_same = is_nest && end - i > 1 && std::all_of(lines.begin() + static_cast<std::ptrdiff_t>(i), lines.begin() + static_cast<std::ptrdiff_t>(end), [](const Line& line) { return line.kind != '+'; });
    if (!is_same) {
      out += options.color ? colored_script(lines[i].text) : std::string(lines[i].text);
      out += '\n';
      ++i;
      continue;
    }
    size_t room = options.width > indent + 50 ? options.width - indent - 28 : 22;
    std::string summary = std::string(indent, ' ') + "... " + nests_in(i, end, [&](size_t at) { return lines[at].text; }, room) + " (" + count_text(end - i) + ", unchanged)";
    out += options.color ? "\x1b[2m" + summary + "\x1b[0m\n" : summary + "\n";
    i = end;
  }
  return out;
}

}  // namespace loopsmith
