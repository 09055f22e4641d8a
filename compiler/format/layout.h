// One statement, or the head of one, laid out: on a line where it fits, else broken at its brackets, as Black breaks Python:
// the last bracket first, its content on a separate line where that fits, otherwise an item per line with a comma after
// each. A comma after the last item asks for an item per line. Operators begin lines. Long lists of numbers are filled.
//
// The tokens are never changed except: quotes, where the string contains none; a comma after the last item;
// parentheses around a right-hand side that needs several lines, which go away again when it does not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/lexer.h"

namespace loopsmith::format {

struct LayoutOptions {
  uint32_t width = 120;        // columns, counted in code points
  uint32_t indent = 4;
  std::string_view newline = "\n";
  std::string_view lead;       // the blanks before the statement on its line
};

/// The layout, without the blanks before its first line. None: a comment has no place in it, and the statement must stay as it is.
[[nodiscard]] auto lay_out(std::vector<Token> tokens, const LayoutOptions& options) -> std::optional<std::string>;

/// A comment in the standard form: "#text" gets a blank, blanks at the end go.
[[nodiscard]] auto comment_text(std::string_view comment) -> std::string;

/// Columns of a text without line ends.
[[nodiscard]] auto columns(std::string_view text) -> uint32_t;

}  // namespace loopsmith::format
