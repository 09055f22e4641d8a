// Line diffs: shortest, and faithful to both texts.
#include "support/text_diff.h"

#include <algorithm>
#include <random>
#include <string>

#include "../catch.h"

using namespace loopsmith;

namespace {
auto side(const std::vector<DiffLine>& lines, DiffLine::Kind without) -> std::string {
  std::string out;
  for (const DiffLine& line : lines) {
    if (line.kind != without) { out += std::string(line.text) + "\n"; }
  }
  return out;
}
auto shortest(const std::vector<char>& a, const std::vector<char>& b) -> size_t {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) { d[i][j] = i + j; }
      else if (a[i - 1] == b[j - 1]) { d[i][j] = d[i - 1][j - 1]; }
      else { d[i][j] = 1 + std::min(d[i - 1][j], d[i][j - 1]); }
    }
  }
  return d[a.size()][b.size()];
}
}  // namespace

TEST_CASE("random diffs are shortest and give both texts back") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<char> a, b;
    std::string left, right;
    for (int i = static_cast<int>(random() % 12); i > 0; --i) { a.push_back(static_cast<char>('a' + random() % 3)); }
    for (int i = static_cast<int>(random() % 12); i > 0; --i) { b.push_back(static_cast<char>('a' + random() % 3)); }
    for (char c : a) { left += std::string(1, c) + "\n"; }
    for (char c : b) { right += std::string(1, c) + "\n"; }
    auto lines = diff_lines(left, right);
    CHECK(side(lines, DiffLine::Kind::Added) == left);
    CHECK(side(lines, DiffLine::Kind::Removed) == right);
    DiffCount n = count_diff(lines);
    CHECK(n.added + n.removed == shortest(a, b));
  }
}

TEST_CASE("far unchanged lines fold") {
  CHECK(render_diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\ng\n", {.context = 1}) == "  ... 4 lines\n  e\n- f\n+ g\n");
  CHECK(render_diff("same\n", "same\n").empty());
}
