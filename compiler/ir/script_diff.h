// The changes between two printed programs. Like support/text_diff.h, but for programs: a nest that only moved in or out by a level
// counts as unchanged, and omitted lines are summarised by their loops and blocks.
//
//               for w_0 in range(4):
//     +             for co_0 in T.serial(2, annotations={"x": 1}):
//     >                 for w_1 in T.unroll(7):
//     > ... for co_1: conv (27 lines, deeper)
//
// The result is for people, and is not a patch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace loopsmith {

/// As `context`: omits nothing.
constexpr size_t every_line = SIZE_MAX;

struct ScriptDiffOptions {
  size_t context = 3;          // unchanged lines shown around a change; those above it must not be deeper; `every_line`: all lines
  bool color = false;
  size_t width = 80;           // the width of a line that summarises others
};

/// Lines with "-" (removed), "+" (added), ">" or "<" (deeper, less deep) or " " in front; empty if nothing changed.
[[nodiscard]] auto diff_scripts(std::string_view before, std::string_view after, const ScriptDiffOptions& options = {}) -> std::string;

/// The whole second program, with one line for each unchanged nest: `... for i, j: C (9 lines, unchanged)`.
[[nodiscard]] auto fold_unchanged(std::string_view before, std::string_view after, const ScriptDiffOptions& options = {}) -> std::string;

}  // namespace loopsmith
