// Logical lines: the lines of statements, found before parsing. As in Python, a scan of strings, brackets, comments and
// continuation lines decides where a line ends. If a bracket or string is never closed, the line ends where the next one looks like a
// statement.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/origin.h"

namespace loopsmith::syntax {

enum class TokenKind : uint8_t { Name, Number, String, Operator, Open, Close, Bad };

struct Token {
  TokenKind kind{};
  Span span;
};

/// Incomplete: the line ends in the middle of an expression (`x = a +`). The parser would continue with the next line.
enum class LineFault : uint8_t { None, UnclosedBracket, UnmatchedClose, MismatchedClose, UnclosedString, BadCharacter, TooDeep, Incomplete };

struct LogicalLine {
  Span span;             // from the first byte of code to the last
  uint32_t indent = 0;   // columns before it; a tab goes to the next multiple of 8
  bool ends_with_colon = false;
  LineFault fault = LineFault::None;  // the first fault of the line
  Span fault_at;         // the bracket, quote or character
  Span fault_other;      // MismatchedClose: the bracket that is open
};

struct CommentSpan {
  Span span;
  uint32_t indent = 0;
  bool own_line = false;
};

struct Lines {
  std::vector<LogicalLine> lines;
  std::vector<CommentSpan> comments;
  /// No line has a fault: each line depends on its own text alone.
  bool is_plain = false;
};

/// The lines of a text. `base_indent`: the column of its first byte.
[[nodiscard]] auto scan_lines(std::string_view text, uint32_t base_indent = 0) -> Lines;
/// The same for an edit of the text `before`, whose lines are `old`: scans only between the first difference and the last.
[[nodiscard]] auto scan_lines_again(std::string_view text, std::string_view before, const Lines& old) -> Lines;
/// The lines in a part of the text, with positions counted from its first byte. The lines of the text must be plain.
[[nodiscard]] auto lines_within(const Lines& all, Span part) -> Lines;
/// The number of bytes that two texts have in common at their beginnings, and, after these, at their ends.
struct Common { size_t front = 0, back = 0; };
[[nodiscard]] auto common_ends(std::string_view a, std::string_view b) -> Common;
/// The tokens of a line's text, with positions counted from its first byte. Comments are left out.
[[nodiscard]] auto tokenize(std::string_view line) -> std::vector<Token>;
/// True for a word that begins the head of a block (`for`, `else` ...).
[[nodiscard]] auto is_head_word(std::string_view word) -> bool;
/// The word at the beginning of a text; empty if it begins with another character.
[[nodiscard]] auto first_word(std::string_view text) -> std::string_view;

/// A part of a text that is parsed on its own: a declaration, or a run of comments between declarations.
struct Chunk {
  Span span;
  bool is_comments = false;
};
/// The declarations of a text, and runs of comments between them. `sch = tir.Schedule(...)` at the top is one declaration with the statements
/// below, up to the last that uses `sch` or a schedule of its result (`tir.Schedule(sch.mod)`). A class, a decorator and any other schedule end it.
[[nodiscard]] auto split_declarations(std::string_view text, const Lines& lines) -> std::vector<Chunk>;
/// The functions directly inside of a class, whose text is `text`.
[[nodiscard]] auto split_members(std::string_view text, const Lines& lines) -> std::vector<Chunk>;
/// The parts of a long program, whose function is `text`: each statement with a body is one part; other statements are grouped. Only the lines nearby decide
/// where a part begins, so that an edit leaves the other parts unchanged. Empty for a function that is not a program, is short, or has an
/// unclear layout.
[[nodiscard]] auto split_body(std::string_view text, const Lines& lines) -> std::vector<Chunk>;
/// The fewest lines of a program that is parsed in parts. Tests set it; so does LOOPSMITH_TEST_PARTS.
[[nodiscard]] auto least_lines_in_parts() -> size_t&;

}  // namespace loopsmith::syntax
