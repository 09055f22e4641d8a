// Text on a terminal: its width, and lines broken between words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace loopsmith::repl {

/// A text without blanks and line ends at its beginning and end.
[[nodiscard]] auto trim(std::string_view text) -> std::string_view;

/// The number of columns of a line, without its colours and line end.
[[nodiscard]] auto columns_of(std::string_view line) -> size_t;

/// Words in lines of at most `width` columns, each ended; all lines but the first begin with `indent` blanks.
[[nodiscard]] auto wrapped(std::string_view text, size_t width, size_t indent = 0) -> std::string;

/// A row of a list: its head, and from column `at` a text in lines of at most `width` columns. A head that is longer than its column
/// is printed on a separate line.
[[nodiscard]] auto list_row(std::string_view head, std::string_view text, size_t at, size_t width) -> std::string;

}  // namespace loopsmith::repl
