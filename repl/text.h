// Text on a terminal: its width, and lines broken between words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace loopsmith::repl {

/// A text without the blanks and line ends around it.
[[nodiscard]] auto trim(std::string_view text) -> std::string_view;

/// Columns that a line takes: characters, without colours and its end.
[[nodiscard]] auto columns_of(std::string_view line) -> size_t;

/// Words in lines of at most `width` columns, each ended; all lines but the first begin with `indent` blanks.
[[nodiscard]] auto wrapped(std::string_view text, size_t width, size_t indent = 0) -> std::string;

/// A row of a list: its head, and from column `at` on a text in lines of at most `width` columns. A head that is longer than its column
/// has a line to itself.
[[nodiscard]] auto list_row(std::string_view head, std::string_view text, size_t at, size_t width) -> std::string;

}  // namespace loopsmith::repl
