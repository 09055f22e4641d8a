// Files to measure on: made, not kept, so that their sizes are what the budgets say.
#pragma once

#include <string>

namespace loopsmith::bench {

/// Programs of two blocks, each with a short schedule, `unit_lines` lines together; without mistakes.
inline constexpr int unit_lines = 25;
inline constexpr int typing_line = 17;     // in a unit, from 0: the last statement of its program
[[nodiscard]] auto file_of_lines(int lines) -> std::string;

/// One program of so many lines: a hundred kinds of statement over and over, four lines each.
inline constexpr int statement_lines = 4;
inline constexpr int statement_typing_line = 3;
[[nodiscard]] auto function_of_lines(int lines) -> std::string;

[[nodiscard]] auto module_of_94_lines() -> std::string;

/// A convolution of four blocks and a schedule of 60 statements; lines that hold `, "tile", 1)` can be edited.
[[nodiscard]] auto long_schedule() -> std::string;

}  // namespace loopsmith::bench
