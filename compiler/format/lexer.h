// The tokens of one logical line, including comments and strings. A formatter may change the space between them, never the tokens.
// Unlike syntax/lines.h, which finds the ends of lines in text that may be wrong, this file reads lines that parse, and
// rejects others.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace loopsmith::format {

enum class TokenKind : uint8_t { Name, Keyword, Number, String, Operator, Open, Close, Comment };

struct Token {
  TokenKind kind{};
  std::string_view text;
  bool own_line = false;         // comments: there is no code before it on its line
  bool newline_before = false;   // the first token of a line of the text
  bool space_before = false;     // set by `space_tokens`, for lines written without breaks
  bool is_slice_colon = false;

  [[nodiscard]] auto is(std::string_view wanted) const -> bool {
    return text == wanted && kind != TokenKind::String && kind != TokenKind::Comment;
  }
  [[nodiscard]] auto is_operator(std::string_view wanted) const -> bool { return kind == TokenKind::Operator && text == wanted; }
};

struct LexedLine {
  std::vector<Token> tokens;
  bool has_backslash = false;  // lines joined by "\" outside of strings
};

/// None: the line has a character or string that is no token.
[[nodiscard]] auto lex(std::string_view line) -> std::optional<LexedLine>;

/// Decides which tokens of one statement have a single space between them.
void space_tokens(std::vector<Token>& tokens);

/// True for a "+", "-", "*", "**" or "~" at `at` without a left operand.
[[nodiscard]] auto is_prefix(const std::vector<Token>& tokens, size_t at) -> bool;

}  // namespace loopsmith::format
