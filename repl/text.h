// Text on a terminal: how wide it is, and lines broken between words; words in lines of script.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace loopsmith::repl {

/// Columns that a line takes: characters, without colours and its end.
[[nodiscard]] auto columns_of(std::string_view line) -> size_t;

/// Words in lines of at most `width` columns, each ended; all lines but the first begin with `indent` blanks.
[[nodiscard]] auto wrapped(std::string_view text, size_t width, size_t indent = 0) -> std::string;

/// A row of a list: what is meant, and behind it from column `at` on what there is to say, in lines of at most `width` columns. What is
/// longer than its column has a line for itself.
[[nodiscard]] auto list_row(std::string_view head, std::string_view said, size_t at, size_t width) -> std::string;

/// Does a line of script mention a name on its own?
[[nodiscard]] auto mentions(std::string_view line, std::string_view name) -> bool;

}  // namespace loopsmith::repl
