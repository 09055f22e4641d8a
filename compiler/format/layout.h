// The layout of one statement, or of the head of a statement: on one line if it fits, otherwise broken at its brackets, as Black breaks Python:
// first the last bracket, with its content on a separate line if that fits, otherwise one item per line with a comma after
// each. A comma after the last item requests one item per line. Lines begin with operators. Long lists of numbers are filled.
//
// The tokens are never changed except: quotes, if the string contains none; a comma after the last item;
// parentheses around a right-hand side that needs several lines, which are removed when it no longer does.
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

/// The layout, without the blanks before its first line. None: a comment has no possible position, and the statement must not change.
[[nodiscard]] auto lay_out(std::vector<Token> tokens, const LayoutOptions& options) -> std::optional<std::string>;

/// A comment in the standard form: "#text" gets a blank, blanks at the end are removed.
[[nodiscard]] auto comment_text(std::string_view comment) -> std::string;

/// Columns of a text without line ends.
[[nodiscard]] auto columns(std::string_view text) -> uint32_t;

}  // namespace loopsmith::format
