// Differences between two texts, line by line: shortest edits (Myers 1986), and their rendering with a few
// unchanged lines around each change. The output is for people, not for `patch`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopsmith {

/// The lines of a text without their line ends. Text behind the last line end is a line unless it is empty.
[[nodiscard]] auto lines_of(std::string_view text) -> std::vector<std::string_view>;

struct DiffLine {
  enum class Kind : char { Same = ' ', Removed = '-', Added = '+' };
  Kind kind = Kind::Same;
  std::string_view text;       // within the given texts; without the line end
  uint32_t before = 0;         // line number from 1 in the old text; 0: only in the new text
  uint32_t after = 0;
};

/// All lines of both texts, in order. The views live as long as the texts.
[[nodiscard]] auto diff_lines(std::string_view before, std::string_view after) -> std::vector<DiffLine>;

struct DiffOptions {
  size_t context = 3;          // unchanged lines shown around a change; longer runs become one line "  ... 12 lines"
  bool color = false;
  std::string_view indent = {};
};
/// Lines with "+", "-" or " " in front; empty if the texts are equal.
[[nodiscard]] auto render_diff(std::string_view before, std::string_view after, const DiffOptions& options = {}) -> std::string;

/// The numbers of added and removed lines.
struct DiffCount { size_t added = 0, removed = 0; };
[[nodiscard]] auto count_diff(const std::vector<DiffLine>& lines) -> DiffCount;

}  // namespace loopsmith
