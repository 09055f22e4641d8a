// Line diffs: see text_diff.h.
#include "support/text_diff.h"

#include <algorithm>
#include <cstdint>

namespace loopsmith {

auto lines_of(std::string_view text) -> std::vector<std::string_view> {
  std::vector<std::string_view> out;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

namespace {

using Lines = std::vector<std::string_view>;

// After this many edits the rest of the text counts as replaced: this bounds time and memory for texts without common lines.
constexpr int most_edits = 4000;

// Pairs of equal lines that a shortest edit keeps, between a[a0, a1) and b[b0, b1).
void match(const Lines& a, int a0, int a1, const Lines& b, int b0, int b1, std::vector<std::pair<int, int>>& out) {
  while (a0 < a1 && b0 < b1 && a[a0] == b[b0]) { out.emplace_back(a0++, b0++); }
  int tail = 0;
  while (a0 < a1 - tail && b0 < b1 - tail && a[a1 - 1 - tail] == b[b1 - 1 - tail]) { ++tail; }
  int n = a1 - tail - a0;
  int m = b1 - tail - b0;
  if (n > 0 && m > 0) {
    int limit = std::min(n + m, most_edits);
    std::vector<std::vector<int>> history;
    std::vector<int> reach(2 * static_cast<size_t>(limit) + 3, 0);
    auto at = [&](std::vector<int>& v, int k) -> int& { return v[static_cast<size_t>(k + limit + 1)]; };
    int found = -1;
    for (int d = 0; d <= limit && found < 0; ++d) {
      history.push_back(reach);
      for (int k = -d; k <= d; k += 2) {
        int x = k == -d || (k != d && at(reach, k - 1) < at(reach, k + 1)) ? at(reach, k + 1) : at(reach, k - 1) + 1;
        while (x < n && x - k < m && a[a0 + x] == b[b0 + x - k]) { ++x; }
        at(reach, k) = x;
        if (x >= n && x - k >= m) {
          found = d;
          break;
        }
      }
    }
    std::vector<std::pair<int, int>> kept;
    if (found >= 0) {
      int x = n;
      int y = m;
      for (int d = found; d > 0; --d) {
        std::vector<int>& before = history[static_cast<size_t>(d)];
        int k = x - y;
        bool down = k == -d || (k != d && at(before, k - 1) < at(before, k + 1));
        int from_k = down ? k + 1 : k - 1;
        int from_x = at(before, from_k);
        int from_y = from_x - from_k;
        int after_edit = down ? from_x : from_x + 1;
        while (x > after_edit) { kept.emplace_back(a0 + --x, b0 + --y); }
        x = from_x;
        y = from_y;
      }
      while (x > 0 && y > 0) { kept.emplace_back(a0 + --x, b0 + --y); }
    }
    out.insert(out.end(), kept.rbegin(), kept.rend());
  }
  for (int i = tail; i > 0; --i) { out.emplace_back(a1 - i, b1 - i); }
}

}  // namespace

auto diff_lines(std::string_view before, std::string_view after) -> std::vector<DiffLine> {
  Lines a = lines_of(before);
  Lines b = lines_of(after);
  std::vector<std::pair<int, int>> kept;
  match(a, 0, static_cast<int>(a.size()), b, 0, static_cast<int>(b.size()), kept);
  kept.emplace_back(static_cast<int>(a.size()), static_cast<int>(b.size()));
  std::vector<DiffLine> out;
  int i = 0;
  int j = 0;
  for (const auto& [x, y] : kept) {
    for (; i < x; ++i) { out.push_back({DiffLine::Kind::Removed, a[i], static_cast<uint32_t>(i + 1), 0}); }
    for (; j < y; ++j) { out.push_back({DiffLine::Kind::Added, b[j], 0, static_cast<uint32_t>(j + 1)}); }
    if (i < static_cast<int>(a.size())) {
      out.push_back({DiffLine::Kind::Same, a[i], static_cast<uint32_t>(i + 1), static_cast<uint32_t>(j + 1)});
      ++i;
      ++j;
    }
  }
  return out;
}

auto count_diff(const std::vector<DiffLine>& lines) -> DiffCount {
  DiffCount out;
  for (const DiffLine& line : lines) {
    if (line.kind == DiffLine::Kind::Added) { ++out.added; }
    if (line.kind == DiffLine::Kind::Removed) { ++out.removed; }
  }
  return out;
}

auto render_diff(std::string_view before, std::string_view after, const DiffOptions& options) -> std::string {
  std::vector<DiffLine> lines = diff_lines(before, after);
  std::vector<bool> shown(lines.size(), false);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].kind == DiffLine::Kind::Same) { continue; }
    size_t from = i > options.context ? i - options.context : 0;
    for (size_t k = from; k < std::min(lines.size(), i + options.context + 1); ++k) { shown[k] = true; }
  }
  if (std::none_of(shown.begin(), shown.end(), [](bool s) { return s; })) { return {}; }
  std::string out;
  for (size_t i = 0; i < lines.size();) {
    if (!shown[i]) {
      size_t end = i;
      while (end < lines.size() && !shown[end]) { ++end; }
      out += options.indent;
      if (options.color) { out += "\x1b[2m"; }
      out += "  ... " + std::to_string(end - i) + (end - i == 1 ? " line" : " lines");
      if (options.color) { out += "\x1b[0m"; }
      out += '\n';
      i = end;
      continue;
    }
    const DiffLine& line = lines[i++];
    out += options.indent;
    bool paint = options.color && line.kind != DiffLine::Kind::Same;
    if (paint) { out += line.kind == DiffLine::Kind::Added ? "\x1b[32m" : "\x1b[31m"; }
    out += static_cast<char>(line.kind);
    out += ' ';
    out += line.text;
    if (paint) { out += "\x1b[0m"; }
    out += '\n';
  }
  return out;
}

}  // namespace loopsmith
