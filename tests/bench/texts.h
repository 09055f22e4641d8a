// Files for measurements: generated, so that they have the sizes of the budgets.
#pragma once

#include <string>

namespace loopsmith::bench {

/// Programs of two blocks, each with a short schedule, `unit_lines` lines together; without mistakes.
inline constexpr int unit_lines = 25;
inline constexpr int typing_line = 17;     // the line within a unit, from 0, of the last statement of its program
[[nodiscard]] auto file_of_lines(int lines) -> std::string;

/// A program with a given number of lines: a hundred kinds of statements in turn, four lines each.
inline constexpr int statement_lines = 4;
inline constexpr int statement_typing_line = 3;
[[nodiscard]] auto function_of_lines(int lines) -> std::string;

[[nodiscard]] auto module_of_94_lines() -> std::string;

/// A convolution of four blocks and a schedule of 60 statements; lines that hold `, "tile", 1)` can be edited.
[[nodiscard]] auto long_schedule() -> std::string;

/// A product with a packed operand, and its schedule of 30 steps: of stages in Python, and of blocks. Both schedules have the same result; lines as above can be edited.
[[nodiscard]] auto stage_schedule() -> std::string;
[[nodiscard]] auto block_schedule() -> std::string;

}  // namespace loopsmith::bench
