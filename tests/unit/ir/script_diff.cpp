// Diffs of printed programs: faithful to both texts, short if a nest only moved, with a summary of omitted lines.
#include "ir/script_diff.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../catch.h"

using namespace loopsmith;

namespace {

auto lines_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) { out.push_back(line); }
  return out;
}

auto stripped(const std::string& line) -> std::string { return line.substr(std::min(line.find_first_not_of(' '), line.size())); }

}  // namespace

TEST_CASE("a diff of programs gives the new text, and the old one except for its indentation") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> before;
    for (int i = static_cast<int>(random() % 20); i > 0; --i) { before.push_back(std::string(random() % 3 * 4, ' ') + static_cast<char>('a' + random() % 5)); }
    std::vector<std::string> after = before;
    for (int edits = static_cast<int>(random() % 4); edits > 0; --edits) {
      size_t begin = after.empty() ? 0 : random() % after.size();
      size_t end = std::min(after.size(), begin + random() % 8);
      switch (random() % 3) {
        case 0: after.erase(after.begin() + static_cast<std::ptrdiff_t>(begin), after.begin() + static_cast<std::ptrdiff_t>(end)); break;
        case 1: after.insert(after.begin() + static_cast<std::ptrdiff_t>(begin), "new"); break;
        default: for (size_t i = begin; i < end; ++i) { after[i].insert(0, "    "); }
      }
    }
    std::string left;
    std::string right;
    for (const std::string& line : before) { left += line + "\n"; }
    for (const std::string& line : after) { right += line + "\n"; }
    std::string diff = diff_scripts(left, right, {.context = every_line});
    CHECK(diff.empty() == (left == right));
    if (left == right) { continue; }
    std::vector<std::string> old_lines;
    std::vector<std::string> new_lines;
    for (const std::string& line : lines_of(diff)) {
      if (line[0] != '-') { new_lines.push_back(line.substr(2)); }
      if (line[0] != '+') { old_lines.push_back(stripped(line.substr(2))); }
    }
    std::vector<std::string> old_stripped;
    for (const std::string& line : before) { old_stripped.push_back(stripped(line)); }
    CHECK(new_lines == after);
    CHECK(old_lines == old_stripped);
  }
}

TEST_CASE("a nest that moved is not repeated, and lines that are left out are summarised") {
  std::string pad = "for n, h in T.grid(1, 30):\n    with T.block(\"pad\"):\n        P[n, h] = A[n, h]\n";
  std::string body = "with T.block(\"C\"):\n    a\n    b\n    c\n    d\n";
  auto indented = [](const std::string& text, size_t by) {
    std::string out;
    for (const std::string& line : lines_of(text)) { out += std::string(by, ' ') + line + "\n"; }
    return out;
  };
  std::string before = pad + "for i, j in T.grid(4, 2):\n" + indented(body, 4);
  std::string after = pad + "for i in range(4):\n    for j in T.unroll(2):\n" + indented(body, 8);
  CHECK(diff_scripts(before, after, {.context = 2}) ==
        "  ... for n, h: pad (3 lines, unchanged)\n"
        "- for i, j in T.grid(4, 2):\n"
        "+ for i in range(4):\n"
        "+     for j in T.unroll(2):\n"
        ">         with T.block(\"C\"):\n"
        ">             a\n"
        "> ... 3 lines, deeper\n");
  CHECK(diff_scripts(after, before, {.context = 0}) ==
        "  ... for n, h: pad (3 lines, unchanged)\n"
        "- for i in range(4):\n"
        "-     for j in T.unroll(2):\n"
        "+ for i, j in T.grid(4, 2):\n"
        "< ... C (5 lines, less deep)\n");
  CHECK(fold_unchanged(before, after) == "... for n, h: pad (3 lines, unchanged)\nfor i in range(4):\n    for j in T.unroll(2):\n        ... C (5 lines, unchanged)\n");
  // Names that do not fit are counted.
  std::string many;
  for (int i = 0; i < 30; ++i) { many += "with T.block(\"a_block_with_a_long_name_" + std::to_string(i) + "\"):\n    x\n"; }
  std::string shown = diff_scripts(many + "y\n", many + "z\n", {.context = 0, .width = 80});
  CHECK(lines_of(shown).front() == "  ... a_block_with_a_long_name_0; 29 more (60 lines, unchanged)");
}
