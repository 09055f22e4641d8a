// From the text of one declaration to its Item: parse, repair, build. The result depends on the text alone.
//
// Repair: replaces a line that cannot be parsed, in a copy, by a placeholder of the same length, until the rest parses. So an error
// damages only its own line: the tree has a BrokenStmt in its place, with the expressions that could be read.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "syntax/ast.h"
#include "syntax/lines.h"

namespace loopsmith::syntax {

/// The trees of the last texts that were parsed without errors. A text that resembles one of them is parsed as an edit of it. Only trees
/// without errors are kept: they do not depend on the edits that led to them.
class ParseMemory {
 public:
  ParseMemory();
  ~ParseMemory();
  struct Entry;
  std::vector<Entry> entries;
  size_t bytes = 0;   // the bytes that tree-sitter holds for the trees
  /// The bytes of the trees and the texts.
  [[nodiscard]] auto bytes_in_all() const -> size_t;
};

enum class Role : uint8_t { TopLevel, Member, Part };

/// A text from which an item is made. It is a piece of a text whose lines are known, `around`; null: it is not.
struct Piece {
  std::string_view text;
  uint32_t indent = 0;           // the column of its first byte
  const Lines* around = nullptr;
  uint32_t offset = 0;           // the position in `around`
};

/// Finds or builds the items inside of a declaration.
struct Sources {
  /// The item of a class's function.
  std::function<ItemPtr(const Piece& piece)> member;
  /// The items of a program's parts. If the program replaces a former one with the same head, sets `decl` to the id of that program.
  std::function<std::vector<ItemPtr>(std::string_view head, const std::vector<Piece>& pieces, DeclId& decl)> parts;
};

[[nodiscard]] auto build_item(const Piece& piece, Role role, const Sources& sources, ParseMemory& memory) -> ItemPtr;
/// The item of a run of comments.
[[nodiscard]] auto build_comments(std::string_view text) -> ItemPtr;
/// The item of a text that is not parsed, with the reason.
[[nodiscard]] auto build_broken(std::string_view text, Diagnostic reason) -> ItemPtr;
/// Sorts the diagnostics from `first` on by their `place`; equal ones keep their order.
void sort_diagnostics(Diagnostics& all, size_t first, const std::function<uint32_t(const Diagnostic&)>& place);
/// The hash by which old items are found.
[[nodiscard]] auto item_hash(std::string_view text, uint32_t indent) -> uint64_t;

}  // namespace loopsmith::syntax
