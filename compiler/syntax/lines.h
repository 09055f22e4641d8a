// Logical lines: what a statement's line is before anything is parsed. A scan of strings, brackets, comments and
// continuation lines, which is how Python itself decides where a line ends, made to do something sensible with
// brackets and strings that are never closed: it ends such a line where the next one begins to look like a statement.
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

/// Incomplete: the line ends where it must go on (`x = a +`). The parser would go on with the next line.
enum class LineFault : uint8_t { None, UnclosedBracket, UnmatchedClose, MismatchedClose, UnclosedString, BadCharacter, TooDeep, Incomplete };

struct LogicalLine {
  Span span;             // from the first byte of code to the last
  uint32_t indent = 0;   // columns before it; a tab goes to the next multiple of 8
  bool ends_with_colon = false;
  LineFault fault = LineFault::None;  // the first
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
  /// No line has a fault: what a line is depends on its own text alone.
  bool is_plain = false;
};

/// The lines of a text. `base_indent` is the column at which its first byte stands.
[[nodiscard]] auto scan_lines(std::string_view text, uint32_t base_indent = 0) -> Lines;
/// The same for a text that was made of another one, whose lines are `old`: scans what is between the first difference and
/// the last.
[[nodiscard]] auto scan_lines_again(std::string_view text, std::string_view before, const Lines& old) -> Lines;
/// Those in a part of the text, counted from its first byte; the text's lines are plain.
[[nodiscard]] auto lines_within(const Lines& all, Span part) -> Lines;
/// Bytes that two texts have in common at their beginnings, and behind these at their ends.
struct Common { size_t front = 0, back = 0; };
[[nodiscard]] auto common_ends(std::string_view a, std::string_view b) -> Common;
/// The tokens of a line's text, positions counted from its first byte. Comments are left out.
[[nodiscard]] auto tokenize(std::string_view line) -> std::vector<Token>;
/// Is it a word that begins the head of a block (`for`, `else` ...)?
[[nodiscard]] auto is_head_word(std::string_view word) -> bool;
/// The word a text begins with; empty when it does not.
[[nodiscard]] auto first_word(std::string_view text) -> std::string_view;

/// A part of a text that is parsed on its own: a declaration, or a run of comments between declarations.
struct Chunk {
  Span span;
  bool is_comments = false;
};
/// The statements at the top that follow `sch = tir.Schedule(...)`, as far as one of them speaks of `sch`, are one declaration with it, and so is
/// another schedule of what it made (`tir.Schedule(sch.mod)`); a class, what is decorated and any other schedule end it.
[[nodiscard]] auto split_declarations(std::string_view text, const Lines& lines) -> std::vector<Chunk>;
/// The functions directly inside the class that `text` is.
[[nodiscard]] auto split_members(std::string_view text, const Lines& lines) -> std::vector<Chunk>;
/// The statements of a long program, `text` being its function: each statement with a body by itself, others by a few
/// together. Where a part begins is told by the lines near it alone, so that an edit leaves the parts elsewhere as they
/// are. None: the function is no program, is short, or its layout is not clear.
[[nodiscard]] auto split_body(std::string_view text, const Lines& lines) -> std::vector<Chunk>;
/// Lines that a program's body has at least to be parsed in parts. Tests set it; so does LOOPSMITH_TEST_PARTS.
[[nodiscard]] auto least_lines_in_parts() -> size_t&;

}  // namespace loopsmith::syntax
