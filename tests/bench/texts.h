// Files for measurements: generated, so that they have the sizes of the budgets.
#pragma once

#include <string>

namespace loopsmith::bench {

/// Programs of two blocks, each with a short schedule, `unit_lines` lines together; without mistakes.
inline constexpr int unit_lines = 25;
inline constexpr int typing_line = 17;     // in a unit, from 0: the last statement of its program
[[nodiscard]] auto file_of_lines(int lines) -> std::string;

/// A program of so many lines: a hundred kinds of statements again and again, four lines each.
inline constexpr int statement_lines = 4;
inline constexpr int statement_typing_line = 3;
[[nodiscard]] auto function_of_lines(int lines) -> std::string;

[[nodiscard]] auto module_of_94_lines() -> std::string;

/// A convolution of four blocks and a schedule of 60 statements; lines that hold `, "tile", 1)` can be edited.
[[nodiscard]] auto long_schedule() -> std::string;

}  // namespace loopsmith::bench
